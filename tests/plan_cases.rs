//! One case for each fault that once was: what a plan must not do, in the smallest run that shows it.
#![allow(clippy::unwrap_used)]

mod common;

use common::prune::{Pruned, Said, Settings, prune, tokens};
use serde_json::{Value, json};
use spare::formats::{Edit, EditError, apply, openai_chat};
use spare::plan::{PlanOptions, Receipt, RestoreError, TextHash, Verdict, restore};
use spare::trajectory::{Frozen, Place, Segment, VisibleText, segments};

const LONG: &str =
    "then the car goes on and on past the wall and the door where nothing is to be read";

/// Turns with these assistant fields, each with a call of these arguments and its result.
fn run(turns: &[(Value, Value)]) -> String {
    let mut messages = vec![json!({"role": "user", "content": "Which pub?"})];
    for (index, (fields, arguments)) in turns.iter().enumerate() {
        let mut message = json!({"role": "assistant", "content": ""});
        for (key, value) in fields.as_object().unwrap() {
            message[key] = value.clone();
        }
        let id = format!("call_{index}");
        message["tool_calls"] = json!([{"id": id, "type": "function", "function": {"name": "zoom", "arguments": arguments}}]);
        messages.push(message);
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": "ok"}));
    }
    messages.push(json!({"role": "assistant", "content": "Done."}));
    json!({ "messages": messages }).to_string()
}

fn thought(text: &str) -> (Value, Value) {
    (json!({"reasoning_content": text}), json!("{}"))
}

fn content(text: &str) -> (Value, Value) {
    (json!({"content": text}), json!("{}"))
}

/// Pruned with a summary from outside and nothing sensitive.
fn covered(text: &str, sigma: &str, keep_atoms: bool) -> Pruned {
    let settings = Settings {
        given: Some(sigma.into()),
        plan: PlanOptions {
            keep_atoms,
            ..PlanOptions::default()
        },
        ..Settings::default()
    };
    prune(text, &settings, |_| Said::Shown(false, Vec::new()))
}

fn verdicts(out: &Pruned) -> Vec<(Verdict, &str)> {
    let plans = out.events.iter().flat_map(|e| &e.plan.segments);
    plans.map(|s| (s.verdict, s.reason.code())).collect()
}

fn lost(out: &Pruned) -> Vec<&str> {
    let events = out.events.iter().flat_map(|e| &e.plan.survival.lost);
    events.map(String::as_str).collect()
}

#[test]
fn a_mark_right_before_the_closing_tag_is_seen() {
    for source in [
        format!("<think>{LONG}</think>So."),
        format!("{LONG}</think>So."),
    ] {
        let once = covered(&run(&[content(&source)]), "all seen", true);
        assert_eq!(verdicts(&once), [(Verdict::Delete, "covered")]);
        let again = covered(&once.after, "all seen", true);
        assert!(again.events[0].event.decided, "{}", once.after);
    }
    // also where no line stands between the mark and the tag
    let call = run(&[
        content(&format!("<think>{LONG}</think>So.")),
        (json!({"content": "<think>x</think>y"}), json!("{}")),
    ])
    .replacen("\"name\":\"zoom\",\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"call_1\"", "\"name\":\"summarize_the_task\",\"arguments\":\"{\\\"summary\\\": \\\"s\\\"}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"call_1\"", 1);
    let rule = |_: &Segment| Said::Shown(false, Vec::new());
    let once = prune(&call, &Settings::default(), rule);
    assert!(
        once.after
            .contains("<think>Evidence (1 of 1 steps pruned):</think>")
    );
    assert!(
        prune(&once.after, &Settings::default(), rule).events[0]
            .event
            .decided
    );
}

#[test]
fn a_value_in_text_that_goes_too_does_not_stand_there() {
    let fields = json!({"reasoning_content": format!("{LONG}: it is 4711 now"), "content": format!("I see 4711. {LONG}")});
    let mut body: Value = serde_json::from_str(&run(&[(fields, json!("{}"))])).unwrap();
    body["messages"][2]["content"] = "4711".into();
    let settings = Settings {
        visible: VisibleText::Prune,
        given: Some("all seen".into()),
        ..Settings::default()
    };
    // The field is sensitive; the text beside the call is covered and goes.
    let out = prune(&body.to_string(), &settings, |s| {
        Said::Shown(s.index == 0, (0..tokens(&s.text).len()).collect())
    });
    assert_eq!(
        verdicts(&out),
        [
            (Verdict::Evidence, "sensitive"),
            (Verdict::Delete, "covered")
        ]
    );
    let after: Value = serde_json::from_str(&out.after).unwrap();
    let evidence = after["messages"][1]["reasoning_content"].as_str().unwrap();
    assert!(evidence.contains("4711"), "{evidence}");
}

#[test]
fn a_value_that_a_call_spells_with_escapes_is_not_lost() {
    let text = format!("{LONG}: it is AX-00731-Q or C:\\tmp\\4711 now");
    let arguments = json!("{\"label\": \"\\u0041X-00731-Q\", \"file\": \"C:\\\\tmp\\\\4711\"}");
    let out = covered(
        &run(&[(json!({"reasoning_content": text}), arguments)]),
        "all seen",
        true,
    );
    assert_eq!(verdicts(&out), [(Verdict::Delete, "covered")]);
    assert_eq!(out.events[0].plan.survival.only_in_reasoning, 0);
    assert_eq!(lost(&out), [""; 0]);
}

#[test]
fn what_the_template_of_evidence_says_is_no_value() {
    // the counts of the mark
    let out = covered(
        &run(&[thought(&format!("{LONG}: it is 2 now")), thought(LONG)]),
        "all seen",
        false,
    );
    assert!(out.after.contains("Evidence (2 of 2 steps pruned):"));
    assert_eq!(lost(&out), ["2"]);
    // ... of an earlier event, too
    let summary = json!([{"id": "s", "type": "function", "function": {"name": "summarize_the_task", "arguments": "{\"summary\": \"all seen\"}"}}]);
    let noted = json!({"role": "tool", "tool_call_id": "s", "content": "noted"});
    let two = json!([{"role": "user", "content": "Which pub?"},
        {"role": "assistant", "content": "", "reasoning": LONG, "tool_calls": []},
        {"role": "assistant", "content": "So.", "reasoning": LONG},
        {"role": "assistant", "content": "", "reasoning": format!("{LONG}: it is 1 now"), "tool_calls": summary}, noted,
        {"role": "assistant", "content": "", "reasoning": LONG, "tool_calls": summary}, noted]);
    let out = prune(&two.to_string(), &Settings::default(), |_| {
        Said::Shown(false, Vec::new())
    });
    assert_eq!(
        out.events[1].plan.survival.only_in_reasoning, 1,
        "{}",
        out.after
    );
    assert!(out.after.contains("it is 1 now"));
    // labels and the note behind a box
    let turns = [
        thought(&format!("{LONG}: the \"Text\" at x1 reads \"Hop Inn\" now")),
        (
            json!({"reasoning_content": format!("{LONG}: it lies at [174, 450, 469, 658] {LONG} {LONG}")}),
            json!("{\"bbox_2d\": [1, 2, 3, 4]}"),
        ),
    ];
    let out = covered(&run(&turns), "all seen", true);
    assert!(
        out.after
            .contains("(x1, y1, x2, y2; unit and picture not stated)"),
        "{}",
        out.after
    );
    for value in ["at x1", "\\\"Text\\\""] {
        assert!(out.after.contains(value), "{value} in {}", out.after);
    }
}

#[test]
fn a_value_that_only_hidden_reasoning_holds_beside_is_kept() {
    let text = run(&[
        thought("It is 4711."),
        thought(&format!("{LONG}: it is 4711 now")),
    ]);
    let settings = Settings {
        given: Some("all seen".into()),
        ..Settings::default()
    };
    let out = prune(&text, &settings, |s| match s.index {
        0 => Said::Hidden,
        _ => Said::Shown(false, Vec::new()),
    });
    assert_eq!(
        verdicts(&out),
        [
            (Verdict::Invisible, "hidden_by_template"),
            (Verdict::Evidence, "covered_but_only_here")
        ]
    );
}

#[test]
fn a_summary_with_think_tags_is_not_written_into_content() {
    for tag in ["<think>", "</think>"] {
        let sigma = format!("seen {tag} it");
        for source in [content(&format!("<think>{LONG}</think>So.")), content(LONG)] {
            let text = run(&[source]);
            let out = covered(&text, &sigma, true);
            assert_eq!(verdicts(&out), [(Verdict::Keep, "no_place")]);
            assert_eq!(out.after, text);
        }
        // a field has no tags to break
        let out = covered(&run(&[thought(LONG)]), &sigma, true);
        assert!(out.after.contains(&format!("Task state: {sigma}")));
    }
    // evidence beside a tag in visible text
    let out = covered(
        &run(&[content(&format!(
            "{LONG}: <think>4711</think> stands there, {LONG}"
        ))]),
        "all seen",
        true,
    );
    assert_eq!(verdicts(&out), [(Verdict::Keep, "no_place")]);
}

#[test]
fn evidence_of_covered_words_still_holds_their_sensitive_values() {
    // one value stands nowhere else, one stands in a result but carries a sensitive token
    let mut body: Value = serde_json::from_str(&run(&[thought(&format!(
        "{LONG}: it is 4711 now. {LONG}: the other is 2380 now"
    ))]))
    .unwrap();
    body["messages"][2]["content"] = "2380".into();
    let settings = Settings {
        given: Some("all seen".into()),
        ..Settings::default()
    };
    let out = prune(&body.to_string(), &settings, |s| {
        let at = s.text.find("2380").unwrap();
        Said::Shown(
            false,
            tokens(&s.text)
                .iter()
                .enumerate()
                .filter(|(_, t)| t.contains(&at))
                .map(|(k, _)| k)
                .collect(),
        )
    });
    assert_eq!(
        verdicts(&out),
        [(Verdict::Evidence, "covered_but_only_here")]
    );
    assert!(
        out.after.contains("it is 4711 now") && out.after.contains("the other is 2380 now"),
        "{}",
        out.after
    );
}

#[test]
fn a_text_part_shorter_than_the_mark_stays() {
    let parts =
        json!({"content": [{"type": "text", "text": "Ok."}, {"type": "text", "text": LONG}]});
    let out = covered(&run(&[(parts, json!("{}"))]), "s", true);
    assert_eq!(
        verdicts(&out),
        [(Verdict::Keep, "no_saving"), (Verdict::Delete, "covered")]
    );
}

#[test]
fn white_space_around_a_summary_is_not_counted() {
    let run = openai_chat::read(&run(&[thought(&LONG.repeat(9))])).unwrap();
    let all = segments(&run, VisibleText::Auto);
    let spans = tokens(&all[0].text);
    let scores = spare::score::EventScores {
        segments: vec![spare::score::SegmentScores {
            token_ids: vec![0; spans.len()],
            spans,
            ..Default::default()
        }],
        ..Default::default()
    };
    let plan = spare::plan::build(
        &spare::plan::EventInput {
            run: &run,
            event: &spare::plan::Event {
                index: 0,
                at: 3,
                recorded: None,
                decided: false,
                candidates: vec![0],
            },
            segments: &all,
            sigma: &spare::summary::Sigma::given(format!("{}seen", " ".repeat(10))),
            scores: &scores,
            decisions: &[spare::rules::Decision {
                segment: 0,
                sensitive: false,
                tokens: vec![],
                needed: 2,
                ..spare::rules::Decision::default()
            }],
            hidden: &[],
            count: &str::len,
            writer: None,
        },
        &PlanOptions {
            keep_atoms: true,
            ..PlanOptions::default()
        },
    );
    let text = plan.segments[0].text.as_deref().unwrap();
    assert_eq!(text, "Evidence (1 of 1 steps pruned):\nTask state: seen");
    assert_eq!(
        (plan.summary_tokens, plan.evidence_tokens),
        (4, text.len() - 4)
    );
}

#[test]
fn an_empty_copy_of_a_reasoning_field_is_no_copy() {
    for fields in [
        json!({"reasoning_content": "", "reasoning": LONG}),
        json!({"reasoning_content": LONG, "reasoning": ""}),
        json!({"reasoning_content": " \n", "reasoning": LONG}),
    ] {
        let run = openai_chat::read(&run(&[(fields, json!("{}"))])).unwrap();
        let all = segments(&run, VisibleText::Auto);
        assert_eq!(
            all.iter()
                .map(|s| (s.text.as_str(), s.frozen))
                .collect::<Vec<_>>(),
            [(LONG, None)]
        );
        assert_eq!(all[0].places.len(), 1);
    }
}

#[test]
fn tags_beside_blank_parts_are_all_that_a_message_has() {
    let parts = |second: Value| {
        let message = json!([{"role": "assistant", "content": [{"type": "text", "text": "<think>hm</think>"}, second]}]);
        let run = openai_chat::read(&message.to_string()).unwrap();
        segments(&run, VisibleText::Auto)[0].frozen
    };
    assert_eq!(
        parts(json!({"type": "text", "text": "\n"})),
        Some(Frozen::MessageWouldBeEmpty)
    );
    assert_eq!(parts(json!({"type": "text", "text": "So."})), None);
    assert_eq!(
        parts(json!({"type": "image_url", "image_url": "a.png"})),
        None
    );
}

#[test]
fn half_of_a_surrogate_pair_never_reaches_into_other_bytes() {
    for text in [
        r#"{"a":"\ud83d","b":"xyz"}"#,
        r#"{"a":"\ud83dabcdefgh"}"#,
        r#"{"a":"\ud83d\u0041"}"#,
        r#"{"a":"\udc00"}"#,
    ] {
        for end in 0..5 {
            let edit = Edit::Text {
                place: Place {
                    pointer: "/a".into(),
                    range: 0..end,
                },
                text: String::new(),
            };
            if end > 0 {
                assert!(
                    matches!(apply(text, &[edit]), Err(EditError::NoSuchPlace { .. })),
                    "{text} {end}"
                );
            }
        }
    }
}

#[test]
fn a_receipt_is_not_believed_in_its_lengths() {
    let hash = TextHash::of("x");
    let before = TextHash {
        bytes: usize::MAX,
        ..hash.clone()
    };
    let receipt = Receipt {
        schema: 1,
        before,
        after: hash,
        ..Receipt::default()
    };
    assert!(matches!(
        restore("x", &receipt),
        Err(RestoreError::Broken { .. })
    ));
}

/// A writer is believed only where its lines are faithful and short; else rules over the text do it.
#[test]
fn written_evidence_is_checked() {
    let words = "I look at the sign for a while, it is weathered and hard to see. It reads 02380 557723 as far as I can tell from here, which is long.";
    let run = openai_chat::read(&run(&[thought(words)])).unwrap();
    let all = segments(&run, VisibleText::Auto);
    let spans = tokens(&all[0].text);
    let sensitive: Vec<usize> = (0..spans.len()).collect();
    let scores = spare::score::EventScores {
        segments: vec![spare::score::SegmentScores {
            token_ids: vec![0; spans.len()],
            spans,
            ..Default::default()
        }],
        ..Default::default()
    };
    let plan = |lines: Option<&str>| {
        let write =
            |_: &spare::evidence::Source<'_>| lines.map(spare::evidence::Evidence::from_text);
        let plan = spare::plan::build(
            &spare::plan::EventInput {
                run: &run,
                event: &spare::plan::Event {
                    index: 0,
                    at: run.messages.len(),
                    recorded: None,
                    decided: false,
                    candidates: vec![0],
                },
                segments: &all,
                sigma: &spare::summary::Sigma::from_call("seen".into()),
                scores: &scores,
                decisions: &[spare::rules::Decision {
                    segment: 0,
                    sensitive: true,
                    tokens: sensitive.clone(),
                    needed: 2,
                    ..spare::rules::Decision::default()
                }],
                hidden: &[],
                count: &|text| tokens(text).len(),
                writer: Some(&write),
            },
            &PlanOptions {
                keep_atoms: true,
                ..PlanOptions::default()
            },
        );
        let plan = plan.segments[0].clone();
        (plan.written, plan.text.unwrap())
    };
    let (written, text) = plan(Some("- Text: the phone number is 02380 557723"));
    assert!(written);
    assert!(
        text.ends_with("\nText: the phone number is 02380 557723"),
        "{text}"
    );
    let long = format!("Text: {} 02380 557723", "word ".repeat(60));
    for lines in [
        Some("Text: 02380 557724"),
        Some("Text: 02380 557723 and 9"),
        Some("Nothing of value."),
        Some(""),
        Some(long.as_str()),
        None,
    ] {
        let (written, text) = plan(lines);
        assert!(!written, "{lines:?}");
        assert!(text.contains("It reads 02380 557723"), "{text}");
    }
}
