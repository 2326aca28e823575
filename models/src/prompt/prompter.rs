//! How does a recorded chat become token ids, and how do pieces of it?

use std::ops::Range;

use serde_json::{Map, Value, json};
use tokenizers::{PostProcessorWrapper, Tokenizer};

use super::encoded::{Encoded, encode};
use super::error::PromptError;
use super::parts::{Chat, escape};
use super::rendering::{Cut, Rendering};
use super::special::{AddedTokens, SpecialTokens};
use super::template::ChatTemplate;
use super::trial::Renderer;

/// A checkpoint's tokenizer and chat template. Immutable, shareable between threads.
#[derive(Debug)]
pub struct Prompter {
    tokenizer: Tokenizer,
    template: ChatTemplate,
    added: AddedTokens,
    named: Map<String, Value>,
    image: Option<u32>,
    message_start: Option<u32>,
}

/// How an assistant turn that calls a tool begins, up to the first byte of one argument's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallOpening {
    /// From the turn's message-start token to the value.
    pub text: String,
    /// Ids of `text`.
    pub ids: Vec<u32>,
    /// What the template writes after the value, up to the end of the turn.
    pub closing: String,
    /// The value stands inside a JSON string and must be escaped as one.
    pub json: bool,
}

impl Prompter {
    /// `tokenizer_json` is a checkpoint's `tokenizer.json`, `template` its chat template.
    ///
    /// # Errors
    /// [`PromptError::Tokenizer`] when the tokenizer cannot be read, lacks the picture placeholder, or splits
    /// differently at the start of a text than after a special token; [`PromptError::Template`] when the template does not compile.
    pub fn new(
        tokenizer_json: &[u8],
        template: &str,
        tokens: &SpecialTokens,
    ) -> Result<Self, PromptError> {
        Self::with_template(tokenizer_json, ChatTemplate::new(template)?, tokens)
    }

    /// As [`Prompter::new`], with a template already compiled.
    ///
    /// # Errors
    /// See [`Prompter::new`].
    pub fn with_template(
        tokenizer_json: &[u8],
        template: ChatTemplate,
        tokens: &SpecialTokens,
    ) -> Result<Self, PromptError> {
        let mut tokenizer =
            Tokenizer::from_bytes(tokenizer_json).map_err(PromptError::tokenizer)?;
        // Text between special tokens is encoded piece by piece, so no piece may count as the first.
        let pre_tokenizer =
            serde_json::to_string(&tokenizer.get_pre_tokenizer()).unwrap_or_default();
        if pre_tokenizer.contains("\"prepend_scheme\":\"first\"") {
            return Err(PromptError::tokenizer(
                "pre_tokenizer: found prepend_scheme \"first\", expected one that treats every piece alike",
            ));
        }
        // Special tokens and trimmed offsets are this module's own business.
        tokenizer.with_post_processor(None::<PostProcessorWrapper>);
        tokenizer.with_padding(None);
        tokenizer
            .with_truncation(None)
            .map_err(PromptError::tokenizer)?;
        tokenizer.set_encode_special_tokens(true);
        let added = AddedTokens::new(&tokenizer);
        let image = |token: &String| {
            let id = tokenizer
                .token_to_id(token)
                .filter(|_| added.special.contains(token));
            id.ok_or_else(|| {
                PromptError::tokenizer(format!("special token {token:?}: found none, expected one"))
            })
        };
        let image = tokens.image.as_ref().map(image).transpose()?;
        let named = tokens.named.iter();
        let mut prompter = Self {
            tokenizer,
            template,
            added,
            named: named
                .map(|(name, token)| (name.clone(), json!(token)))
                .collect(),
            image,
            message_start: None,
        };
        prompter.message_start = prompter.learn_message_start();
        Ok(prompter)
    }

    /// The template in use.
    pub fn template(&self) -> &ChatTemplate {
        &self.template
    }

    /// Renders `chat` and finds every part of it.
    ///
    /// # Errors
    /// [`PromptError::Template`] when the template raises; a refusal that names the part when its place cannot be
    /// proven ([`PromptError::ShownTwice`], [`PromptError::Torn`], [`PromptError::Opaque`],
    /// [`PromptError::SpecialInStructure`]).
    pub fn render(&self, chat: &Chat) -> Result<Rendering, PromptError> {
        self.render_with(chat, &[])
    }

    /// As [`Prompter::render`], and finds pieces of parts as well.
    ///
    /// # Errors
    /// See [`Prompter::render`]; [`PromptError::Cut`] when a piece does not exist or cannot be located.
    pub fn render_with(&self, chat: &Chat, cuts: &[Cut]) -> Result<Rendering, PromptError> {
        Renderer::new(&self.template, &self.named, &self.added.special, chat)?.finish(cuts)
    }

    /// Token ids of a rendering. `picture_tokens` gives the number of tokens of each picture, in order.
    ///
    /// Text of the run is encoded with special tokens off: a literal such as `<|im_end|>` counts only where the
    /// template wrote it.
    ///
    /// # Errors
    /// [`PromptError::PictureCount`], [`PromptError::TouchingPictures`], [`PromptError::EmptyPicture`].
    pub fn encode(
        &self,
        rendering: &Rendering,
        picture_tokens: &[usize],
    ) -> Result<Encoded, PromptError> {
        let mut run: Vec<Range<usize>> = Vec::with_capacity(rendering.parts.len());
        for part in &rendering.parts {
            match run.last_mut() {
                Some(last) if part.span.start <= last.end => last.end = last.end.max(part.span.end),
                _ => run.push(part.span.clone()),
            }
        }
        let special = self.added.find(&rendering.text, &run);
        encode(
            &self.tokenizer,
            &rendering.text,
            &special,
            self.image,
            picture_tokens,
        )
    }

    /// Index of the nearest message-start token at or before `token_index`; `None` where there is none.
    pub fn turn_start(&self, encoded: &Encoded, token_index: usize) -> Option<usize> {
        let start = self.message_start?;
        let before = encoded.ids.get(..=token_index)?;
        before.iter().rposition(|&id| id == start)
    }

    /// Id of the special token that begins a message, learnt from the template.
    pub fn message_start_id(&self) -> Option<u32> {
        self.message_start
    }

    /// Ids with which an assistant turn begins, learnt from the template: from the message-start token to what the model writes first.
    ///
    /// # Errors
    /// [`PromptError::Template`] when the template raises.
    pub fn encode_header(&self) -> Result<Vec<u32>, PromptError> {
        let user = json!({"role": "user", "content": "x"});
        let ids = |add_generation_prompt| -> Result<Vec<u32>, PromptError> {
            let chat = Chat {
                messages: vec![user.clone()],
                add_generation_prompt,
                ..Chat::default()
            };
            Ok(self.encode(&self.render(&chat)?, &[])?.ids)
        };
        let (short, long) = (ids(false)?, ids(true)?);
        Ok(long.get(short.len()..).unwrap_or_default().to_vec())
    }

    /// Id of the picture placeholder; `None` for a model that cannot see.
    pub fn image_id(&self) -> Option<u32> {
        self.image
    }

    /// Ids of one user message rendered in a chat of its own, from its message-start token to the end.
    ///
    /// # Errors
    /// [`PromptError::NoMessageStart`]; [`PromptError::NotShown`] when the template shows nothing of `text`; what
    /// [`Prompter::render`] gives.
    pub fn user_block(&self, text: &str) -> Result<Vec<u32>, PromptError> {
        self.user_message(text, false)
    }

    /// As [`user_block`](Self::user_block), followed by the opening of the answer.
    ///
    /// # Errors
    /// Those of [`user_block`](Self::user_block).
    pub fn user_request(&self, text: &str) -> Result<Vec<u32>, PromptError> {
        self.user_message(text, true)
    }

    fn user_message(&self, text: &str, answer: bool) -> Result<Vec<u32>, PromptError> {
        let rendering = self.render(&Chat {
            messages: vec![json!({"role": "user", "content": text})],
            add_generation_prompt: answer,
            ..Chat::default()
        })?;
        let pointer = "/messages/0/content";
        let shown = rendering
            .spans(pointer)
            .next()
            .map(|part| part.span.clone());
        let shown = shown.ok_or_else(|| not_shown(pointer))?;
        let encoded = self.encode(&rendering, &[])?;
        let first = encoded.tokens_overlapping(shown).start;
        let start = self
            .turn_start(&encoded, first)
            .ok_or(PromptError::NoMessageStart)?;
        Ok(encoded.ids.get(start..).unwrap_or_default().to_vec())
    }

    /// The beginning of an assistant turn that calls `name`, up to the value of the string argument `argument`.
    ///
    /// # Errors
    /// [`PromptError::NotShown`] when the template shows no tool calls; what [`Prompter::render`] gives.
    pub fn call_opening(&self, name: &str, argument: &str) -> Result<CallOpening, PromptError> {
        // The quote tells whether the template writes the value inside a JSON string.
        const VALUE: &str = "v\"v";
        let arguments = json!({argument: VALUE});
        let call = |arguments: Value| Chat {
            messages: vec![
                json!({"role": "user", "content": "?"}),
                json!({"role": "assistant", "content": "", "tool_calls": [
                    {"id": "call00000", "type": "function", "function": {"name": name, "arguments": arguments}}]}),
            ],
            ..Chat::default()
        };
        let function = "/messages/1/tool_calls/0/function";
        let pointer = format!("{function}/arguments/{}", escape(argument));
        let rendering = self.render(&call(arguments.clone()));
        let place = rendering
            .as_ref()
            .ok()
            .and_then(|r| Some(r.spans(&pointer).next()?.span.clone()));
        let (rendering, value) = match place {
            Some(value) => (rendering?, value),
            // Some templates want the arguments as the JSON text that the wire carries.
            None => {
                let text = arguments.to_string();
                let escaped = json!(VALUE).to_string();
                let start = text.rfind(&escaped).map_or(0, |at| at + 1);
                let cut = Cut {
                    pointer: format!("{function}/arguments"),
                    range: start..start + escaped.len() - 2,
                };
                let rendering = self.render_with(&call(json!(text)), &[cut])?;
                let value = rendering.cuts.first().cloned().flatten();
                let value = value.ok_or_else(|| not_shown(&pointer))?;
                (rendering, value)
            }
        };
        let before = Rendering {
            text: rendering
                .text
                .get(..value.start)
                .unwrap_or_default()
                .to_owned(),
            parts: rendering
                .parts
                .iter()
                .filter(|part| part.span.end <= value.start)
                .cloned()
                .collect(),
            hidden: Vec::new(),
            cuts: Vec::new(),
        };
        let encoded = self.encode(&before, &[])?;
        let last = encoded
            .ids
            .len()
            .checked_sub(1)
            .ok_or(PromptError::NoMessageStart)?;
        let start = self
            .turn_start(&encoded, last)
            .ok_or(PromptError::NoMessageStart)?;
        let from = encoded.offsets.get(start).map_or(0, |token| token.start);
        Ok(CallOpening {
            text: before.text.get(from..).unwrap_or_default().to_owned(),
            ids: encoded.ids.get(start..).unwrap_or_default().to_vec(),
            closing: rendering
                .text
                .get(value.end..)
                .unwrap_or_default()
                .to_owned(),
            json: rendering.text.get(value) != Some(VALUE),
        })
    }

    /// Ids of plain text, special tokens off.
    ///
    /// # Errors
    /// [`PromptError::Tokenizer`] when the tokenizer fails.
    pub fn encode_text(&self, text: &str) -> Result<Vec<u32>, PromptError> {
        let encoding = self
            .tokenizer
            .encode_fast(text, false)
            .map_err(PromptError::tokenizer)?;
        Ok(encoding.get_ids().to_vec())
    }

    /// Number of tokens of plain text, special tokens off.
    ///
    /// # Errors
    /// [`PromptError::Tokenizer`] when the tokenizer fails.
    pub fn count(&self, text: &str) -> Result<usize, PromptError> {
        Ok(self.encode_text(text)?.len())
    }

    /// The text of `ids`, special tokens included. Bytes that are no UTF-8 become U+FFFD; ids without a token
    /// (padding rows of the head) give nothing.
    ///
    /// # Errors
    /// [`PromptError::Tokenizer`] when the tokenizer's decoder fails.
    pub fn decode(&self, ids: &[u32]) -> Result<String, PromptError> {
        self.tokenizer
            .decode(ids, false)
            .map_err(PromptError::tokenizer)
    }

    /// Id of a token by its literal.
    pub fn token_id(&self, token: &str) -> Option<u32> {
        self.tokenizer.token_to_id(token)
    }

    /// Number of tokens, added ones included. The head of a checkpoint may have more rows.
    pub fn vocab_size(&self) -> usize {
        self.tokenizer.get_vocab_size(true)
    }

    /// The special token that begins a user message, whatever stands before it.
    ///
    /// The header of a message is what stands before its text both at the head of a chat and between messages, without
    /// what ends the message before; it begins with the token.
    fn learn_message_start(&self) -> Option<u32> {
        let user = json!({"role": "user", "content": "a"});
        let alone = self.render(&Chat {
            messages: vec![user.clone()],
            ..Chat::default()
        });
        let alone = alone.ok()?;
        let text = alone.spans("/messages/0/content").next()?.span.clone();
        let prefix = alone.text.get(..text.start)?;
        let special = self.added.find(prefix, &[]);
        let header = self.learn_header(user, prefix).unwrap_or(0);
        let first = special
            .iter()
            .find(|token| header > 0 && token.bytes.start >= prefix.len() - header);
        first.or(special.last()).map(|token| token.id)
    }

    /// Length in bytes of the header that ends `prefix`.
    fn learn_header(&self, user: Value, prefix: &str) -> Option<usize> {
        let chat = self.render(&Chat {
            messages: vec![
                user.clone(),
                json!({"role": "assistant", "content": "a"}),
                user,
            ],
            ..Chat::default()
        });
        let chat = chat.ok()?;
        let reply = chat.spans("/messages/1/content").next()?.span.clone();
        let next = chat.spans("/messages/2/content").next()?.span.clone();
        let between = chat.text.get(reply.end..next.start)?;
        let end_of_message = chat.text.get(next.end..)?;
        let header = between.strip_prefix(end_of_message).unwrap_or(between);
        let same = header.bytes().rev().zip(prefix.bytes().rev());
        Some(same.take_while(|(a, b)| a == b).count())
    }
}

fn not_shown(pointer: &str) -> PromptError {
    PromptError::NotShown {
        pointer: pointer.to_owned(),
    }
}
