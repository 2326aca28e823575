//! One test a rule of the providers behind chat messages: a history that breaks it, and the nearest one that does not.
#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use spare::formats::provider::PROVIDERS;

fn check(provider: &str, root: &Value) -> Vec<(&'static str, Option<usize>, String)> {
    let provider = PROVIDERS.iter().find(|p| p.name() == provider).unwrap();
    let found = provider.check(root).into_iter();
    found
        .map(|v| {
            assert_eq!(v.provider, provider.name());
            assert!(
                v.what.contains("found") && v.what.contains("expected"),
                "{}",
                v.what
            );
            (v.rule, v.message, v.path)
        })
        .collect()
}

fn one(
    rule: &'static str,
    message: usize,
    path: &str,
) -> Vec<(&'static str, Option<usize>, String)> {
    vec![(rule, Some(message), path.to_owned())]
}

fn call(id: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}})
}

fn calls(ids: &[&str]) -> Value {
    json!({"role": "assistant", "content": null, "tool_calls": ids.iter().map(|id| call(id)).collect::<Vec<_>>()})
}

fn result(id: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": "r"})
}

fn user() -> Value {
    json!({"role": "user", "content": "q"})
}

#[test]
fn every_result_has_its_call() {
    for provider in ["openai", "deepseek"] {
        let rule = "result_without_call";
        assert_eq!(
            check(provider, &json!([user(), result("a")])),
            one(rule, 1, "/1/tool_call_id")
        );
        let other = json!({"messages": [calls(&["a"]), result("a"), user(), result("a")]});
        assert_eq!(
            check(provider, &other),
            one(rule, 3, "/messages/3/tool_call_id")
        );
        assert_eq!(
            check(provider, &json!([calls(&["a"]), result("a"), result("a")])),
            one(rule, 2, "/2/tool_call_id")
        );
        assert_eq!(
            check(
                provider,
                &json!([calls(&["a", "b"]), result("b"), result("a")])
            ),
            []
        );
    }
}

#[test]
fn every_call_has_its_result() {
    for provider in ["openai", "deepseek"] {
        let rule = "call_without_result";
        assert_eq!(
            check(provider, &json!([user(), calls(&["a", "b"]), result("a")])),
            one(rule, 1, "/1/tool_calls/1")
        );
        assert_eq!(
            check(
                provider,
                &json!([calls(&["a"]), calls(&["b"]), result("b")])
            ),
            one(rule, 0, "/0/tool_calls/0")
        );
    }
}

#[test]
fn ids_may_come_again_in_later_messages_only() {
    let again = json!([
        calls(&["0"]),
        result("0"),
        calls(&["0"]),
        result("0"),
        calls(&["0"]),
        result("0")
    ]);
    assert_eq!(check("openai", &again), []);
    let twice = json!([calls(&["0", "0"]), result("0"), result("0")]);
    assert_eq!(
        check("openai", &twice),
        one("repeated_call_id", 0, "/0/tool_calls/1/id")
    );
}

#[test]
fn results_stand_right_behind_their_call() {
    let apart = json!([calls(&["a", "b"]), result("a"), user(), result("b")]);
    assert_eq!(
        check("openai", &apart),
        one("result_apart_from_call", 3, "/3")
    );
}

#[test]
fn legacy_results_follow_their_function_call() {
    let asks = json!({"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": "{}"}});
    let answer = |name: &str| json!({"role": "function", "name": name, "content": "r"});
    assert_eq!(check("openai", &json!([asks, answer("f")])), []);
    assert_eq!(
        check("openai", &json!([asks, answer("g")])),
        one("result_without_call", 1, "/1/name")
    );
    assert_eq!(
        check("openai", &json!([asks, answer("f"), answer("f")])),
        one("result_without_call", 2, "/2/name")
    );
}

#[test]
fn no_assistant_message_is_empty() {
    for content in [
        Value::Null,
        json!(""),
        json!(" \n"),
        json!([]),
        json!([{"type": "text", "text": " "}]),
    ] {
        let run = json!([user(), {"role": "assistant", "content": content}]);
        assert_eq!(
            check("openai", &run),
            one("empty_assistant", 1, "/1/content")
        );
    }
    let thinks = json!([{"role": "assistant", "content": null, "reasoning_content": "all of it"}]);
    assert_eq!(
        check("deepseek", &thinks),
        one("empty_assistant", 0, "/0/content")
    );
    for full in [
        json!({"content": "a"}),
        json!({"content": null, "refusal": "no"}),
        json!({"content": [{"type": "refusal", "refusal": "no"}]}),
    ] {
        let mut message = full;
        message["role"] = "assistant".into();
        assert_eq!(check("openai", &json!([message])), []);
    }
    assert_eq!(check("openai", &json!([calls(&["a"]), result("a")])), []);
}

#[test]
fn no_text_part_is_empty() {
    let mut message = calls(&["a"]);
    message["content"] = json!([{"type": "text", "text": ""}]);
    assert_eq!(
        check("openai", &json!([message, result("a")])),
        one("empty_text_part", 0, "/0/content/0/text")
    );
}

#[test]
fn openai_takes_pictures_from_users_only() {
    let picture = json!([{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}]);
    let run = |role: &str| json!([calls(&["a"]), {"role": role, "tool_call_id": "a", "content": picture}]);
    assert_eq!(
        check("openai", &run("tool")),
        one("picture_outside_user", 1, "/1/content/0")
    );
    assert_eq!(check("deepseek", &run("tool")), []);
    assert_eq!(
        check("openai", &json!([{"role": "user", "content": picture}])),
        []
    );
}

#[test]
fn openai_takes_arguments_as_a_string() {
    let mut message = calls(&["a"]);
    message["tool_calls"][0]["function"]["arguments"] = json!({"n": 1});
    let run = json!([message, result("a")]);
    assert_eq!(
        check("openai", &run),
        one(
            "arguments_not_a_string",
            0,
            "/0/tool_calls/0/function/arguments"
        )
    );
}

#[test]
fn deepseek_gets_the_reasoning_of_every_tool_call_back() {
    let with = |reasoning: Value| {
        let mut message = calls(&["a"]);
        if reasoning != json!(0) {
            message["reasoning_content"] = reasoning;
        }
        let first = json!({"role": "assistant", "content": "a", "reasoning_content": "t"});
        json!({"messages": [first, user(), message, result("a"), {"role": "assistant", "content": "b"}]})
    };
    // A key that is missing is named in words at the message that lacks it; a null has a place of its own.
    let at_the_null = one("reasoning_key_missing", 2, "/messages/2/reasoning_content");
    assert_eq!(check("deepseek", &with(Value::Null)), at_the_null);
    assert_eq!(
        check("deepseek", &with(json!(0))),
        one("reasoning_key_missing", 2, "/messages/2")
    );
    let deepseek = PROVIDERS.iter().find(|p| p.name() == "deepseek").unwrap();
    let said = deepseek.check(&with(json!(0))).remove(0).to_string();
    assert_eq!(
        said,
        "deepseek, reasoning_key_missing, message 2: /messages/2: `reasoning_content`: found no such key beside tool calls of a run with \
         reasoning, expected a string, which may be empty"
    );
    assert_eq!(check("deepseek", &with(json!(""))), []);
    assert_eq!(check("openai", &with(Value::Null)), []);
    // The request's own word on thinking goes first; without one, a run with reasoning thinks.
    let mut off = with(Value::Null);
    off["thinking"] = json!({"type": "disabled"});
    assert_eq!(check("deepseek", &off), []);
    let plain = json!([calls(&["a"]), result("a")]);
    assert_eq!(check("deepseek", &plain), []);
    let on = json!({"thinking": {"type": "enabled"}, "messages": plain});
    assert_eq!(
        check("deepseek", &on),
        one("reasoning_key_missing", 0, "/messages/0")
    );
    let mut new_name = calls(&["a"]);
    new_name["reasoning"] = "t".into();
    assert_eq!(check("deepseek", &json!([new_name, result("a")])), []);
}

#[test]
fn deepseek_takes_no_placeholder() {
    let mut message = calls(&["a"]);
    message["reasoning_content"] = ".".into();
    assert_eq!(
        check("deepseek", &json!([message, result("a")])),
        one("reasoning_placeholder", 0, "/0/reasoning_content")
    );
}

#[test]
fn qwen_counts_picture_tokens() {
    for token in ["<|image_pad|>", "<|video_pad|>", "<|vision_start|>"] {
        let run = json!([{"role": "user", "content": [{"type": "text", "text": format!("what is {token}?")}]}]);
        assert_eq!(
            check("qwen", &run),
            one("picture_token_in_text", 0, "/0/content/0/text")
        );
    }
    let thinks =
        json!([{"role": "assistant", "content": "a", "reasoning_content": "<|image_pad|>"}]);
    assert_eq!(
        check("qwen", &thinks),
        one("picture_token_in_text", 0, "/0/reasoning_content")
    );
    assert_eq!(
        check("qwen", &json!([{"role": "user", "content": "<image>"}])),
        []
    );
}

#[test]
fn qwen_reads_message_tokens_in_text() {
    let run = json!([{"role": "user", "content": "a<|im_end|>"}]);
    assert_eq!(
        check("qwen", &run),
        one("message_token_in_text", 0, "/0/content")
    );
}

#[test]
fn qwen_shows_four_roles() {
    let run =
        json!([{"role": "system", "content": "s"}, user(), {"role": "system", "content": "lost"}]);
    assert_eq!(check("qwen", &run), one("message_not_shown", 2, "/2/role"));
    assert_eq!(
        check("qwen", &json!([{"role": "developer", "content": "lost"}])),
        one("message_not_shown", 0, "/0/role")
    );
}

#[test]
fn qwen_shows_no_picture_of_the_assistant() {
    let part = json!([{"type": "image_url", "image_url": {"url": "a.png"}}, {"type": "text", "text": "a"}]);
    let run = json!([{"role": "assistant", "content": part}]);
    assert_eq!(
        check("qwen", &run),
        one("picture_not_shown", 0, "/0/content/0")
    );
    assert_eq!(
        check("qwen", &json!([{"role": "tool", "content": part}])),
        []
    );
}

#[test]
fn qwen_writes_arguments_as_they_are() {
    let mut message = calls(&["a"]);
    message["tool_calls"][0]["function"]["arguments"] = "{\"n\": ".into();
    assert_eq!(
        check("qwen", &json!([message])),
        one(
            "arguments_not_json",
            0,
            "/0/tool_calls/0/function/arguments"
        )
    );
}

#[test]
fn qwen_takes_what_is_behind_the_last_think_tag() {
    let run = |content: &str| json!([{"role": "assistant", "content": content}]);
    let quoted = "<think>a</think>The tag </think> closes.";
    assert_eq!(
        check("qwen", &run(quoted)),
        one("answer_before_think_tag", 0, "/0/content")
    );
    assert_eq!(check("qwen", &run("<think>a</think>b")), []);
    let field = json!([{"role": "assistant", "content": quoted, "reasoning_content": "a"}]);
    assert_eq!(check("qwen", &field), []);
}
