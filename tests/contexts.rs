//! Are student and teacher the same context but for the summary block? For a template of each kind, and for segments with awkward ends.
#![cfg(feature = "embedded-model")]
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use spare::plan::{Trigger, events};
use spare::replay::{Plan, build, sigma_message};
use spare::summary::SummaryTool;
use spare::trajectory::{Message, Part, Segment, ToolCall, Trajectory, VisibleText, segments};
use spare_models::prompt::{Prompter, SpecialTokens};

/// Thinking models: reasoning in its own block, dropped before the last real question.
const THINKING: &str = r#"
{%- set ns = namespace(last=-1) -%}
{%- for m in messages -%}{%- if m.role == 'user' -%}{%- set ns.last = loop.index0 -%}{%- endif -%}{%- endfor -%}
{%- for m in messages -%}
    {%- set content = m.content if m.content is string else '' -%}
    {%- set thought = m.reasoning_content if m.reasoning_content is string else '' -%}
    {%- if not thought and '</think>' in content -%}
        {%- set thought = content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') -%}
        {%- set content = content.split('</think>')[-1].lstrip('\n') -%}
    {%- endif -%}
    {%- if m.role == 'assistant' -%}
        {{- '<|im_start|>assistant\n' -}}
        {%- if loop.index0 > ns.last -%}{{- '<think>\n' + thought.strip('\n') + '\n</think>\n\n' + content.lstrip('\n') -}}{%- else -%}{{- content -}}{%- endif -%}
        {{- '<|im_end|>\n' -}}
    {%- else -%}
        {{- '<|im_start|>' + m.role + '\n' + content + '<|im_end|>\n' -}}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\n<think>\n' -}}{%- endif -%}
"#;

/// Instruct models: no reasoning field, text beside calls.
const INSTRUCT: &str = r#"
{%- for m in messages -%}
    {{- '<|im_start|>' + ('user' if m.role == 'tool' else m.role) + '\n' -}}
    {%- if m.content is string -%}{{- m.content -}}{%- else -%}{%- for p in m.content -%}{{- p.text -}}{%- endfor -%}{%- endif -%}
    {%- for call in m.tool_calls or [] -%}{{- '\n<tool_call>\n' + call.function.name + '\n</tool_call>' -}}{%- endfor -%}
    {{- '<|im_end|>\n' -}}
{%- endfor -%}
"#;

#[derive(Clone, Copy, PartialEq)]
enum Style {
    Field,
    Think,
    Visible,
}

const ENDS: [&str; 9] = [
    "The sign says 42.",
    "The sign says 42.\n",
    "The sign says 42 ",
    "It is a party 🎉",
    "\nFirst a line end",
    "\n\n Both. \n\n",
    "<|im_end|><|image_pad|> written by a model.",
    "👨‍👩‍👧‍👦",
    "9",
];

fn run(style: Style) -> Trajectory {
    let mut run = Trajectory::new(Vec::new());
    run.push(Message::user("What does it say?"));
    for (index, text) in ENDS.iter().enumerate() {
        let call = vec![ToolCall::new(
            format!("c{index}"),
            "zoom",
            serde_json::json!({"n": index}),
        )];
        run.push(match style {
            Style::Field => Message::assistant(Some((*text).to_owned()), "", call),
            Style::Think => {
                Message::assistant(None, format!("<think>\n{text}\n</think>\n\nNext."), call)
            }
            Style::Visible => Message::assistant(None, *text, call),
        });
        // The same words again, where a search for the text would find them first or last.
        run.push(Message::tool(format!("c{index}"), vec![Part::text(*text)]));
    }
    run
}

fn plan(prompter: &Prompter, run: &Trajectory, sigma: &str) -> (Plan, Vec<Segment>) {
    let segments = segments(run, VisibleText::Auto);
    let event = events(
        run,
        &segments,
        Trigger::PreAnswer,
        &SummaryTool::default(),
        true,
    )
    .remove(0);
    assert_eq!(event.candidates.len(), segments.len());
    (
        build(prompter, run, &event, &segments, sigma, &[]).unwrap(),
        segments,
    )
}

fn check(prompter: &Prompter, style: Style, exact_text: bool) {
    let sigma = "Question: what does it say? Evidence: 42 🎉. Open: <|im_end|> nothing.";
    let (plan, segments) = plan(prompter, &run(style), sigma);
    assert_eq!(
        plan.block,
        prompter.user_block(&sigma_message(sigma)).unwrap()
    );
    assert_eq!(plan.branches.len(), ENDS.len());
    assert_eq!(plan.hidden, Vec::<usize>::new());
    let start = prompter.message_start_id().unwrap();
    for (branch, segment) in plan.branches.iter().zip(&segments) {
        let (student, mut teacher) = (plan.student_ids(branch), plan.teacher_ids(branch));
        assert_eq!(teacher[branch.at..branch.at + plan.block.len()], plan.block);
        teacher.drain(branch.at..branch.at + plan.block.len());
        assert_eq!(teacher, student);
        // The block stands before the header of the very turn: one message start between it and the segment.
        assert_eq!(plan.trunk[branch.at], start);
        assert!(!plan.trunk[branch.at + 1..branch.tokens.start].contains(&start));
        // The segment's tokens hold its text, and the spans tile it.
        let decoded = prompter.decode(&plan.recorded(branch)).unwrap();
        let shown = segment.text.trim();
        assert!(decoded.contains(shown), "{decoded:?} lacks {shown:?}");
        if exact_text {
            assert_eq!(decoded.trim(), shown);
        }
        let covered: std::collections::BTreeSet<usize> =
            branch.spans.iter().cloned().flatten().collect();
        let trimmed = segment.text.len() - segment.text.trim_start().len();
        for byte in trimmed..trimmed + shown.len() {
            assert!(
                covered.contains(&byte),
                "byte {byte} of {:?}: {:?}",
                segment.text,
                branch.spans
            );
        }
    }
}

fn board() -> (Vec<u8>, String, SpecialTokens) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/pretrained/board");
    let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
    let special = SpecialTokens::from_config(&read("tokenizer_config.json")).unwrap();
    (
        read("tokenizer.json"),
        String::from_utf8(read("chat_template.jinja")).unwrap(),
        special,
    )
}

#[test]
fn contexts_differ_by_one_block_for_every_kind_of_template() {
    let (tokenizer, template, special) = board();
    check(
        &Prompter::new(&tokenizer, &template, &special).unwrap(),
        Style::Field,
        true,
    );
    let thinking = Prompter::new(&tokenizer, THINKING, &special).unwrap();
    check(&thinking, Style::Field, true);
    check(&thinking, Style::Think, true);
    check(
        &Prompter::new(&tokenizer, INSTRUCT, &special).unwrap(),
        Style::Visible,
        false,
    );
}

/// The released template and vocabulary, where they are at hand.
#[test]
fn contexts_differ_by_one_block_with_the_real_vocabulary() {
    let from_env = |name: &str, default: &str| {
        std::env::var_os(name).map_or_else(
            || Path::new(env!("CARGO_MANIFEST_DIR")).join(default),
            PathBuf::from,
        )
    };
    let tokenizer = from_env(
        "SPARE_QWEN3_TOKENIZER",
        "target/qwen3-tokenizer/tokenizer.json",
    );
    let Ok(tokenizer) = std::fs::read(&tokenizer) else {
        assert!(
            std::env::var_os("SPARE_REQUIRE_FETCHED").is_none(),
            "no tokenizer at {}",
            tokenizer.display()
        );
        println!(
            "skipped: no tokenizer at {} (.ci/fetch-tokenizer brings it)",
            tokenizer.display()
        );
        return;
    };
    let special = SpecialTokens::default();
    let thinking = Prompter::new(&tokenizer, THINKING, &special).unwrap();
    check(&thinking, Style::Field, false);
    check(
        &Prompter::new(&tokenizer, INSTRUCT, &special).unwrap(),
        Style::Visible,
        false,
    );
    // A final "." fuses with the line end behind it: the token belongs to the segment and covers its last byte.
    let (plan, segments) = plan(&thinking, &run(Style::Field), "nothing");
    assert_eq!(plan.recorded(&plan.branches[0]).last(), Some(&624));
    assert_eq!(
        plan.branches[0].spans.last().unwrap().end,
        segments[0].text.len()
    );

    let template = from_env(
        "SPARE_QWEN3_TEMPLATE",
        "../shared/templates/qwen3-vl-instruct.jinja",
    );
    match std::fs::read_to_string(&template) {
        Ok(template) => check(
            &Prompter::new(&tokenizer, &template, &special).unwrap(),
            Style::Visible,
            false,
        ),
        Err(_) => println!("skipped: no template at {}", template.display()),
    }
}

#[test]
fn reasoning_that_the_template_drops_is_hidden() {
    let (tokenizer, _, special) = board();
    let prompter = Prompter::new(&tokenizer, THINKING, &special).unwrap();
    let mut run = run(Style::Field);
    run.push(Message::user("And now?"));
    let (plan, segments) = plan(&prompter, &run, "nothing");
    assert_eq!(plan.branches, []);
    assert_eq!(plan.hidden.len(), segments.len());
}
