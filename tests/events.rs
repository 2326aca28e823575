//! Where events stand and which segments they decide on.
#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use spare::formats::openai_chat;
use spare::plan::{Event, Trigger, events};
use spare::summary::SummaryTool;
use spare::trajectory::{VisibleText, segments};

fn user() -> Value {
    json!({"role": "user", "content": "Which pub?"})
}

/// An assistant turn with `n` parallel calls and their results.
fn turn(name: &str, n: usize) -> Vec<Value> {
    let id = |call: usize| format!("{name}_{call}");
    let calls: Vec<Value> = (0..n)
        .map(|c| json!({"id": id(c), "type": "function", "function": {"name": "zoom", "arguments": "{}"}}))
        .collect();
    let mut out = vec![
        json!({"role": "assistant", "content": "", "reasoning": format!("thinking of {name}"), "tool_calls": calls}),
    ];
    out.extend((0..n).map(|c| json!({"role": "tool", "tool_call_id": id(c), "content": "ok"})));
    out
}

/// A turn that calls the summary tool, beside another call.
fn summary(name: &str, arguments: &str) -> Vec<Value> {
    vec![
        json!({"role": "assistant", "content": "", "reasoning": format!("thinking of {name}"), "tool_calls": [
            {"id": format!("z_{name}"), "type": "function", "function": {"name": "zoom", "arguments": "{}"}},
            {"id": format!("s_{name}"), "type": "function", "function": {"name": "summarize_the_task", "arguments": arguments}}]}),
        json!({"role": "tool", "tool_call_id": format!("z_{name}"), "content": "ok"}),
        json!({"role": "tool", "tool_call_id": format!("s_{name}"), "content": "noted"}),
    ]
}

fn answer() -> Value {
    json!({"role": "assistant", "content": "The Hop Inn.", "reasoning": "thinking of the answer"})
}

fn of(messages: Vec<Vec<Value>>, trigger: Trigger, supplied: bool) -> Vec<Event> {
    let run = openai_chat::read(&Value::Array(messages.concat()).to_string()).unwrap();
    let all = segments(&run, VisibleText::Auto);
    events(&run, &all, trigger, &SummaryTool::default(), supplied)
}

/// (message, candidates, summary) of each event.
fn shape(events: &[Event]) -> Vec<(usize, Vec<usize>, Option<&str>)> {
    assert!(events.iter().enumerate().all(|(i, e)| e.index == i));
    events
        .iter()
        .map(|e| {
            let text = e.recorded.as_ref().map(|s| s.text.as_str());
            (e.at, e.candidates.clone(), text)
        })
        .collect()
}

#[test]
fn the_model_trigger_stands_at_its_own_calls_and_splits_the_turns_between_them() {
    let messages = vec![
        vec![user()],
        turn("a", 1),                              // 1, 2
        turn("b", 2),                              // 3, 4, 5
        summary("c", "{\"summary\": \"first\"}"),  // 6, 7, 8
        turn("d", 1),                              // 9, 10
        summary("e", "{\"summary\": \"second\"}"), // 11, 12, 13
        vec![answer()],                            // 14
    ];
    let own = [
        (6, vec![0, 1], Some("first")),
        (11, vec![2, 3], Some("second")),
    ];
    assert_eq!(
        shape(&of(messages.clone(), Trigger::Model, false)),
        own.clone()
    );
    // a summary from outside is used at the run's own calls
    assert_eq!(shape(&of(messages, Trigger::Model, true)), own);
}

#[test]
fn a_run_without_a_summary_call_has_no_event_unless_a_summary_is_supplied() {
    let run = || vec![vec![user()], turn("a", 1), turn("b", 1), vec![answer()]];
    assert_eq!(shape(&of(run(), Trigger::Model, false)), []);
    assert_eq!(
        shape(&of(run(), Trigger::Model, true)),
        [(5, vec![0, 1], None)]
    );
}

#[test]
fn a_call_without_a_summary_leaves_its_turns_to_the_next_event() {
    for broken in [
        "{\"summary\": 7}",
        "{\"summary\": \" \"}",
        "not json",
        "{}",
        "",
    ] {
        let messages = vec![
            vec![user()],
            turn("a", 1),
            summary("b", broken),
            turn("c", 1),
            summary("d", "{\"summary\": \"s\"}"),
        ];
        let found = of(messages, Trigger::Model, false);
        assert_eq!(
            shape(&found),
            [(3, vec![], None), (8, vec![0, 1, 2], Some("s"))],
            "{broken}"
        );
    }
}

#[test]
fn fixed_counts_turns_with_calls_and_stands_behind_all_their_results() {
    let run = || {
        vec![
            vec![user()],
            turn("a", 1),                                         // 1, 2
            vec![json!({"role": "assistant", "content": "Hm."})], // 3: no call, not counted
            turn("b", 3),                                         // 4..=7
            turn("c", 1),                                         // 8, 9
            turn("d", 2),                                         // 10, 11, 12
            turn("e", 1),                                         // 13, 14
        ]
    };
    let at = |every| {
        let found = of(run(), Trigger::Fixed(every), true);
        found
            .into_iter()
            .map(|e| (e.at, e.candidates))
            .collect::<Vec<_>>()
    };
    assert_eq!(at(2), [(8, vec![0, 1]), (13, vec![2, 3])]);
    assert_eq!(at(3), [(10, vec![0, 1, 2])]);
    assert_eq!(at(1).len(), 5);
    assert_eq!(at(0), []);
    assert_eq!(at(9), []);
}

#[test]
fn pre_answer_stands_before_the_last_message_without_calls_or_at_the_end() {
    let steps = || vec![vec![user()], turn("a", 1), turn("b", 2)];
    let mut with = steps();
    with.push(vec![answer()]);
    assert_eq!(
        shape(&of(with, Trigger::PreAnswer, true)),
        [(6, vec![0, 1], None)]
    );
    assert_eq!(
        shape(&of(steps(), Trigger::PreAnswer, true)),
        [(6, vec![0, 1], None)]
    );
    // An answer that a question follows has been given; the next one is still to come.
    let mut asked = steps();
    asked.push(vec![
        json!({"role": "assistant", "content": "It is 4.", "reasoning_content": "so"}),
    ]);
    asked.push(vec![user()]);
    assert_eq!(
        shape(&of(asked, Trigger::PreAnswer, true)),
        [(8, vec![0, 1, 2], None)]
    );
}

/// Nobody says anything between a call and its result: a decision there would replay a history that no model was ever shown.
#[test]
fn no_event_stands_behind_a_call_that_waits_for_its_result() {
    let steps = |last: Vec<Value>| vec![vec![user()], turn("a", 1), last];
    let cut = |left: usize| turn("b", 2).into_iter().take(left).collect();
    for (left, at, candidates) in [(1, 3, vec![0]), (2, 3, vec![0]), (3, 6, vec![0, 1])] {
        assert_eq!(
            shape(&of(steps(cut(left)), Trigger::PreAnswer, true)),
            [(at, candidates.clone(), None)],
            "{left}"
        );
        let fixed = of(steps(cut(left)), Trigger::Fixed(1), true);
        assert_eq!(fixed.len(), candidates.len(), "{left}");
    }
    // Somebody went on without the missing result: the call waits no longer.
    let mut gone_on = steps(cut(2));
    gone_on.push(vec![user()]);
    assert_eq!(
        shape(&of(gone_on, Trigger::PreAnswer, true)),
        [(6, vec![0, 1], None)]
    );
    // One turn in several messages waits as a whole.
    let thought =
        json!({"role": "assistant", "content": "", "reasoning": "thinking of b", "tool_calls": []});
    let mut apart = steps(vec![thought]);
    apart.push(cut(1));
    assert_eq!(
        shape(&of(apart, Trigger::PreAnswer, true)),
        [(3, vec![0], None)]
    );
}

#[test]
fn other_triggers_take_the_runs_newest_summary_and_decide_only_turns_before_it() {
    let run = || {
        vec![
            vec![user()],
            turn("a", 1),                             // 1, 2
            summary("b", "{\"summary\": \"first\"}"), // 3, 4, 5
            turn("c", 1),                             // 6, 7
            vec![answer()],                           // 8
        ]
    };
    // The summary cannot cover what was thought after it was written.
    assert_eq!(
        shape(&of(run(), Trigger::PreAnswer, false)),
        [(8, vec![0], Some("first"))]
    );
    assert_eq!(
        shape(&of(run(), Trigger::Fixed(1), false)),
        [
            (3, vec![], None),
            (6, vec![0], Some("first")),
            (8, vec![], Some("first"))
        ]
    );
    // A summary from outside is given at the event itself.
    assert_eq!(
        shape(&of(run(), Trigger::PreAnswer, true)),
        [(8, vec![0, 1, 2], Some("first"))]
    );
}
