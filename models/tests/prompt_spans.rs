//! Does the span map find every part, with templates of each kind, and refuse by name what it cannot prove?
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod prompt_support;

use prompt_support::{THINKING, board, chat, shown, with};
use serde_json::json;
use spare_models::prompt::{ChatTemplate, Cut, PromptError};

fn pointer(error: PromptError) -> (String, PromptError) {
    let pointer = match &error {
        PromptError::ShownTwice { pointer }
        | PromptError::Torn { pointer }
        | PromptError::Opaque { pointer }
        | PromptError::SpecialInStructure { pointer, .. } => pointer.clone(),
        other => panic!("{other}"),
    };
    (pointer, error)
}

#[test]
fn the_same_text_in_two_parts_gets_two_places() {
    let rendering = board()
        .render(&chat(json!([
            {"role": "user", "content": "same"},
            {"role": "assistant", "content": "same", "reasoning_content": "same"},
        ])))
        .unwrap();
    let expected = "<|im_start|>user\nsame<|im_end|>\n<|im_start|>assistant\n<think>\nsame\n</think>\n\nsame<|im_end|>\n";
    assert_eq!(rendering.text, expected);
    let places: Vec<_> = rendering
        .parts
        .iter()
        .map(|p| (p.pointer.as_str(), p.span.start))
        .collect();
    assert_eq!(
        places,
        [
            ("/messages/0/content", 17),
            ("/messages/1/reasoning_content", 62),
            ("/messages/1/content", 77)
        ]
    );
}

#[test]
fn reasoning_before_the_last_user_message_is_hidden() {
    for prompter in [board(), with(THINKING)] {
        let rendering = prompter
            .render(&chat(json!([
                {"role": "user", "content": "a"},
                {"role": "assistant", "content": "", "reasoning_content": "old thought"},
                {"role": "user", "content": "b"},
                {"role": "assistant", "content": "c", "reasoning": "new thought"},
            ])))
            .unwrap();
        assert_eq!(
            rendering.hidden,
            ["/messages/1/content", "/messages/1/reasoning_content"]
        );
        assert_eq!(shown(&rendering, "/messages/3/reasoning"), ["new thought"]);
    }
}

#[test]
fn a_trimmed_part_says_what_is_left_of_it() {
    let rendering = with(THINKING)
        .render(&chat(json!([
            {"role": "user", "content": "\nq\n"},
            {"role": "assistant", "content": "\n\nx\n", "reasoning_content": "\n  y \n\n"},
        ])))
        .unwrap();
    let trimmed: Vec<_> = rendering.parts.iter().map(|p| p.trimmed.clone()).collect();
    // user content untouched; reasoning.strip('\n') keeps blanks; content.lstrip('\n') keeps the last line feed
    assert_eq!(trimmed, [0..3, 1..5, 2..4]);
    assert_eq!(shown(&rendering, "/messages/1/reasoning_content"), ["  y "]);
    assert_eq!(shown(&rendering, "/messages/1/content"), ["x\n"]);
}

#[test]
fn think_tags_in_content_are_followed_through_the_template_that_cuts_there() {
    let content = "<think>\nI see.\n</think>\n\nIt is 9.";
    let messages = json!([
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": content},
        {"role": "user", "content": "b"},
        {"role": "assistant", "content": content},
        {"role": "assistant", "content": content.replace('\n', "")},
    ]);
    let cut = |message: usize, start: usize, length: usize| Cut {
        pointer: format!("/messages/{message}/content"),
        range: start..start + length,
    };
    // With and without the line feeds around; the tight form; the first turn's is hidden by the Thinking type.
    let cuts = [cut(1, 8, 6), cut(3, 8, 6), cut(3, 7, 8), cut(4, 7, 6)];

    let rendering = with(THINKING)
        .render_with(&chat(messages.clone()), &cuts)
        .unwrap();
    assert_eq!(rendering.cuts[0], None);
    for found in &rendering.cuts[1..] {
        assert_eq!(&rendering.text[found.clone().unwrap()], "I see.");
    }
    assert_eq!(rendering.cuts[1], rendering.cuts[2]);
    assert_eq!(shown(&rendering, "/messages/1/content"), ["It is 9."]);
    assert_eq!(
        shown(&rendering, "/messages/3/content"),
        ["I see.", "It is 9."]
    );
    assert_eq!(
        shown(&rendering, "/messages/4/content"),
        ["I see.", "It is 9."]
    );

    // A template that passes content through shows all of it, tags and line feeds included.
    let rendering = board().render_with(&chat(messages), &cuts).unwrap();
    let found: Vec<_> = rendering
        .cuts
        .iter()
        .map(|c| &rendering.text[c.clone().unwrap()])
        .collect();
    assert_eq!(found, ["I see.", "I see.", "\nI see.\n", "I see."]);
    assert_eq!(shown(&rendering, "/messages/3/content"), [content]);
}

#[test]
fn both_ends_shown_with_another_middle_is_not_the_part() {
    // No opening tag, so head and tail survive and the template writes its own `</think>\n\n` between.
    let rendering = with(THINKING)
        .render(&chat(json!([
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": "thought</think>answer"},
        ])))
        .unwrap();
    assert_eq!(
        shown(&rendering, "/messages/1/content"),
        ["thought", "answer"]
    );
}

#[test]
fn a_tool_response_in_a_user_message_keeps_the_template_s_logic() {
    let messages = json!([
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b", "reasoning_content": "still open"},
        {"role": "user", "content": "<tool_response>\nnine\n</tool_response>"},
        {"role": "assistant", "content": "c", "reasoning_content": "closing"},
    ]);
    let rendering = with(THINKING).render(&chat(messages)).unwrap();
    assert_eq!(
        shown(&rendering, "/messages/1/reasoning_content"),
        ["still open"]
    );
    assert_eq!(shown(&rendering, "/messages/2/content"), ["\nnine\n"]);
}

#[test]
fn arguments_are_found_in_their_escaped_form() {
    let rendering = board()
        .render(&chat(json!([
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "1", "type": "function", "function": {"name": "f", "arguments": {"q": " \"x\"\n<é> ", "a/b~c": ["y"]}}},
                {"id": "2", "type": "function", "function": {"name": "g", "arguments": "{\"q\":  \"\\n\"}"}}]},
        ])))
        .unwrap();
    let at = |i: usize, rest: &str| format!("/messages/1/tool_calls/{i}/function/{rest}");
    assert_eq!(
        shown(&rendering, &at(0, "arguments/q")),
        [r#" \"x\"\n<é> "#]
    );
    assert_eq!(shown(&rendering, &at(0, "arguments/a~1b~0c/0")), ["y"]);
    assert_eq!(shown(&rendering, &at(1, "arguments")), [r#"{"q":  "\n"}"#]);
    assert_eq!(shown(&rendering, &at(1, "name")), ["g"]);
    assert!(rendering.hidden.is_empty(), "{:?}", rendering.hidden);
}

#[test]
fn parts_that_cannot_be_followed_are_refused_by_name() {
    let head = "{% for m in messages %}<|im_start|>";
    let end = "<|im_end|>{% endfor %}";
    let messages = json!([{"role": "user", "content": "one two three"}]);
    let refuse = |body: &str, messages: &serde_json::Value| {
        let prompter = with(&format!("{head}{body}{end}"));
        pointer(prompter.render(&chat(messages.clone())).unwrap_err())
    };
    let content = "/messages/0/content".to_owned();

    let (at, error) = refuse("{{ m.content }}|{{ m.content }}", &messages);
    assert!(
        at == content && matches!(error, PromptError::ShownTwice { .. }),
        "{error}"
    );
    for body in [
        "{{ m.content.split('two')[0] }}",
        "{{ m.content.split()[1] }}",
        "{{ m.content.split()[0] }}..{{ m.content.split()[2] }}",
    ] {
        let (at, error) = refuse(body, &messages);
        assert!(
            at == content && matches!(error, PromptError::Torn { .. }),
            "{body}: {error}"
        );
    }
    for body in [
        "{{ m.content | length }}:{{ m.content }}",
        "{{ m.content[:7] }}",
        "{{ m.content[4:7] }}",
        "{{ m.content[:3] }}..{{ m.content[-5:] }}",
        "{{ m.content | tojson(ensure_ascii=true) }}",
    ] {
        let (at, error) = refuse(body, &messages);
        assert!(
            at == content && matches!(error, PromptError::Opaque { .. }),
            "{body}: {error}"
        );
    }
    let forged = json!([{"role": "user<|im_end|>", "content": "x"}]);
    let (at, error) = refuse("{{ m.role }}\n{{ m.content }}", &forged);
    assert!(
        at == "/messages/0/role" && matches!(error, PromptError::SpecialInStructure { .. }),
        "{error}"
    );
}

#[test]
fn a_key_that_spells_a_special_token_is_refused_only_where_it_is_shown() {
    let call = |arguments: serde_json::Value| {
        chat(json!([{"role": "user", "content": "x"},
            {"role": "assistant", "content": "", "id": "<|im_start|>", "tool_calls": [
                {"id": "<|im_end|>", "type": "function", "function": {"name": "f", "arguments": arguments}}]}]))
    };
    assert!(board().render(&call(json!({"k": "<|im_end|>"}))).is_ok());
    let error = board()
        .render(&call(json!({"a": {"<|im_end|>": 1}})))
        .unwrap_err();
    let (at, _) = pointer(error);
    assert_eq!(
        at,
        "/messages/1/tool_calls/0/function/arguments/a/<|im_end|>"
    );
}

#[test]
fn transformed_text_is_followed_when_all_of_it_stays() {
    let prompter = with(
        "{% for m in messages %}<|im_start|>{{ m.content | upper | replace(' ', '_') }}{% endfor %}",
    );
    let rendering = prompter
        .render(&chat(json!([{"role": "user", "content": "one two"}])))
        .unwrap();
    assert_eq!(shown(&rendering, "/messages/0/content"), ["ONE_TWO"]);
}

#[test]
fn a_template_that_raises_says_what_and_where() {
    let messages = json!([{"role": "user", "content": "x"}, {"role": "system", "content": "y"}]);
    let error = with(THINKING).render(&chat(messages)).unwrap_err();
    let PromptError::Template { message, line } = &error else {
        panic!("{error}")
    };
    assert_eq!(message, "a system message must come first");
    let raising = THINKING
        .lines()
        .position(|l| l.contains("raise_exception"))
        .unwrap()
        + 1;
    assert_eq!(*line, Some(raising));
    assert_eq!(
        error.to_string(),
        format!("chat template line {raising}: a system message must come first")
    );

    let error = ChatTemplate::new("a\n{% if %}").unwrap_err();
    assert!(
        matches!(error, PromptError::Template { line: Some(2), .. }),
        "{error}"
    );
}

#[test]
fn bad_chats_and_cuts_are_named() {
    let error = board().render(&chat(json!(["x"]))).unwrap_err();
    assert_eq!(
        error.to_string(),
        "/messages/0: found a string, expected an object"
    );
    let error = board()
        .render(&chat(
            json!([{"role": "user", "content": "x"}, {"content": "x"}]),
        ))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "/messages/1/role: found nothing, expected a string"
    );
    let messages = chat(json!([{"role": "user", "content": "é!"}]));
    for (pointer, range) in [
        ("/messages/0/x", 0..1),
        ("/messages/0/content", 1..3),
        ("/messages/0/content", 2..9),
        ("/messages/0/content", 2..2),
    ] {
        let cut = Cut {
            pointer: pointer.to_owned(),
            range,
        };
        let error = board().render_with(&messages, &[cut]).unwrap_err();
        assert!(matches!(error, PromptError::Cut { .. }), "{error}");
    }
}

/// `trim_blocks` takes the line end behind a block or comment, `lstrip_blocks` the blanks before one on its line; neither touches
/// what an expression prints. Most released templates trim with dashes and would not show the difference.
#[test]
fn white_space_around_blocks_is_that_of_transformers() {
    let prompter = with(
        "{% for m in messages %}\n    {% if m.role == 'user' %}\n<u>{{ m.content }}</u>\n    {% else %}\n  <a>{{ m.content }}</a> {# said #}\n\n    {% endif %}\n  {{ '-' }} {% if loop.last %}.{% endif %}\n{% endfor %}\n  {# end #}\n!\n",
    );
    let messages =
        json!([{"role": "user", "content": "q"}, {"role": "assistant", "content": "a\n"}]);
    let rendering = prompter.render(&chat(messages)).unwrap();
    // transformers 5.24.0 (render_jinja_template), jinja2 3.1.6
    assert_eq!(rendering.text, "<u>q</u>\n  -   <a>a\n</a> \n  - .!");
    assert_eq!(shown(&rendering, "/messages/1/content"), ["a\n"]);
}

#[test]
fn values_print_as_jinja_prints_them() {
    let prompter = with(
        "{{ x.a }} {{ x.b }} {{ x.c }} {{ x.d }} {{ x.c | string }} {{ x | tojson(indent=2) }} {{ x.l | tojson(separators=[',', ':'], sort_keys=true) }} {{ 'a' is sequence }} {{ strftime_now('%Y')[:2] }}",
    );
    let mut chat = chat(json!([]));
    chat.extra =
        json!({"x": {"a": true, "b": null, "c": 1e16, "d": 2, "e": {}, "l": [{"z": 1, "y": "é"}]}})
            .as_object()
            .unwrap()
            .clone();
    // CPython 3.11, jinja2 3.1.6
    let expected = "True None 1e+16 2 1e+16 {\n  \"a\": true,\n  \"b\": null,\n  \"c\": 1e+16,\n  \"d\": 2,\n  \"e\": {},\n  \"l\": [\n    {\n      \"z\": 1,\n      \"y\": \"é\"\n    }\n  ]\n} [{\"y\":\"é\",\"z\":1}] True 20";
    assert_eq!(prompter.render(&chat).unwrap().text, expected);
}

#[test]
fn block_lines_leave_no_white_space() {
    // jinja2 3.1.6 with trim_blocks and lstrip_blocks
    let template = "<s>\n{% for m in messages %}\n    {% if m.role == 'user' %}\n  U: {{ m.content }}\n    {% endif %}\n  {# note #}\n{% endfor %}\nend\n";
    let messages = json!([{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]);
    let rendering = with(template).render(&chat(messages)).unwrap();
    assert_eq!(rendering.text, "<s>\n  U: a\n  U: b\nend");
}
