//! What evidence looks like for texts that were chosen by hand, and which lines of a model are refused.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::single_range_in_vec_init
)]

use std::ops::Range;

use spare::evidence::{
    BoxOrder, BoxSpace, BoxUnit, Evidence, Layout, Line, Source, Unfaithful, check, extract,
    extract_within,
};

fn all(text: &str) -> [Range<usize>; 1] {
    [0..text.len()]
}

fn lines(source: &Source<'_>) -> Vec<String> {
    extract(source).lines.into_iter().map(|l| l.text).collect()
}

fn written(text: &[&str]) -> Vec<Line> {
    text.iter()
        .map(|t| Line {
            text: (*t).to_owned(),
            anchor: None,
        })
        .collect()
}

#[test]
fn a_form_keeps_every_reading_as_it_was_written() {
    let text = "Let me look at the form carefully. The form has fields. Field 1 at [118, 64, 402, 92] reads \"AX-00731-Q\". \
        Hmm, is it 0 or O? Field 2: -12.50 EUR, not +12.50. Field 3: 3/8\" thread, 1.5e-4 m gap. \
        Field 4 rotated 90 deg, serial 0x7F3A, rev B2. So I am done looking at the form. Yes, done.";
    let source = Source {
        text,
        sensitive: &all(text),
        visible: "Fields read: AX-00731-Q; -12.50 EUR.",
        ..Source::default()
    };
    assert_eq!(
        lines(&source),
        [
            "Box: Field 1 at [118, 64, 402, 92] reads \"AX-00731-Q\" (order, unit and picture not stated)",
            "Number: is it 0 or O?",
            "Number: Field 2: -12.50 EUR, not +12.50",
            "Number: Field 3: 3/8\" thread, 1.5e-4 m gap",
            "Code: Field 4 rotated 90 deg, serial 0x7F3A, rev B2",
        ]
    );
}

#[test]
fn a_board_segment_keeps_the_reading_with_its_object_and_its_doubt() {
    let text = "Now I can read it: the purple diamond carries 1. The next shape to check is the purple square. I can see the \
        purple square at cell (0, 1). It might be a 4, but I am not sure. I crop the cell to zoom in.";
    // the digit 1 of the cell in the call is not the reading 1; the cell itself is not repeated
    let call = "crop\n{\"cell\": (0,1)}";
    let source = Source {
        text,
        sensitive: &all(text),
        call,
        ..Source::default()
    };
    assert_eq!(
        lines(&source),
        [
            "Number: the purple diamond carries 1",
            "Number: It might be a 4, but I am not sure"
        ]
    );
}

#[test]
fn a_number_within_a_box_or_of_one_digit_is_no_value_of_the_call() {
    let text = "The door shows 64. The wall shows 0. The plate shows 4711.";
    let call = "zoom\n{\"bbox\": [64, 10, 90, 20], \"img_idx\": 0, \"id\": 4711}";
    let source = Source {
        text,
        sensitive: &all(text),
        call,
        ..Source::default()
    };
    assert_eq!(
        lines(&source),
        ["Number: The door shows 64", "Number: The wall shows 0"]
    );
}

#[test]
fn a_line_keeps_the_doubt_and_the_negation_of_its_clause() {
    for (text, hedge) in [
        (
            "I am not at all sure from this small and blurred picture of the street whether the door shows 4711.",
            "not",
        ),
        (
            "The door of the old white house at the far end of the street shows 4711, but maybe I misread it.",
            "maybe",
        ),
        (
            "On the door of the old white house there is the number 4711 which does not belong to the house.",
            "not",
        ),
    ] {
        let source = Source {
            text,
            sensitive: &all(text),
            ..Source::default()
        };
        let found = lines(&source);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("4711"), "{found:?}");
        assert!(found[0].contains(hedge), "{found:?}");
    }
}

#[test]
fn layouts_get_shorter_and_stay_faithful() {
    let text = "Now I can read it: on the old door the purple diamond carries 9. I can see the purple square, which is a \
        little smaller than the others, at cell (0, 1).";
    let source = Source {
        text,
        sensitive: &all(text),
        ..Source::default()
    };
    let bodies = Layout::ALL.map(|layout| extract_within(&source, layout).body());
    assert!(
        bodies.windows(2).all(|w| w[1].len() < w[0].len()),
        "{bodies:?}"
    );
    assert_eq!(bodies[0], extract(&source).body());
    assert!(bodies[0].starts_with("Number: on the old door the purple diamond carries 9\nList: "));
    assert_eq!(bodies[3], "9\n(0, 1)");
    for layout in Layout::ALL {
        assert_eq!(
            check(&source, &extract_within(&source, layout).lines),
            Ok(())
        );
    }
}

#[test]
fn a_superseded_value_between_two_others_parts_their_lines() {
    let text = "There are 4710 red cars and 4711 blue cars and 4712 green cars.";
    let source = Source {
        text,
        sensitive: &all(text),
        superseded: &[1],
        ..Source::default()
    };
    assert_eq!(
        lines(&source),
        [
            "Number: There are 4710 red cars",
            "Number: blue cars and 4712 green cars"
        ]
    );
    let text = "I saw 4710, 4711 and 4712 here.";
    let short = Source {
        text,
        sensitive: &all(text),
        superseded: &[1],
        ..Source::default()
    };
    assert_eq!(lines(&short), ["Number: I saw 4710", "Number: 4712 here"]);
}

#[test]
fn characters_of_scripts_without_spaces_are_cut_between_and_never_within() {
    let text = "这是一张很大的照片里面有很多人和很多车还有一个写着「営業中」的红色招牌在左边的墙上靠近门口的地方🇳🇱。";
    let source = Source {
        text,
        sensitive: &all(text),
        ..Source::default()
    };
    let found = lines(&source);
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("写着「営業中」"), "{found:?}");
    assert!(found[0].len() < text.len(), "{found:?}");
}

#[test]
fn a_line_that_would_read_as_another_value_falls_back_to_the_bare_value() {
    // cut before the combining mark, the line would begin with a token that the segment does not hold
    let text = "x5\u{fe0f}\u{20e3}The \u{10a0c}5\u{fe0f}\u{20e3}\u{fffc}";
    for (words, labels) in (0..8).map(|w| (w / 2, w % 2 == 0)) {
        let source = Source {
            text,
            sensitive: &all(text),
            superseded: &[0],
            ..Source::default()
        };
        let evidence = extract_within(&source, Layout { words, labels });
        assert_eq!(check(&source, &evidence.lines), Ok(()), "{evidence:?}");
        assert_eq!(evidence.lines.len(), 1);
    }
}

#[test]
fn a_list_over_several_lines_stays_one_value_on_one_line() {
    let text = "The box is at [\n  118,\n  64,\n  402,\n  92\n] as\nseen.";
    let source = Source {
        text,
        sensitive: &[22..23],
        ..Source::default()
    };
    assert_eq!(
        lines(&source),
        ["Box: The box is at [ 118, 64, 402, 92 ] as seen (order, unit and picture not stated)"]
    );
    assert_eq!(check(&source, &extract(&source).lines), Ok(()));
}

#[test]
fn a_box_says_how_it_is_read_when_the_call_does() {
    let text = "The sign is at [174, 450, 469, 658] on the wall.";
    let space = BoxSpace {
        order: Some(BoxOrder::Xyxy),
        unit: Some(BoxUnit::Thousandths),
        picture: Some("0".into()),
        picture_size: None,
    };
    let mut source = Source {
        text,
        sensitive: &all(text),
        space: Some(space.clone()),
        ..Source::default()
    };
    assert_eq!(
        lines(&source),
        [
            "Box: The sign is at [174, 450, 469, 658] on the wall (x1, y1, x2, y2; 0..1000; picture 0)"
        ]
    );
    source.space = Some(BoxSpace {
        unit: None,
        picture_size: Some((640, 480)),
        ..space.clone()
    });
    assert!(
        lines(&source)[0]
            .ends_with("(x1, y1, x2, y2; picture 0, 640 x 480 pixels; unit not stated)")
    );
    source.space = Some(BoxSpace {
        picture: None,
        ..space
    });
    let bare = written(&["Box: [174, 450, 469, 658]"]);
    assert!(matches!(
        check(&source, &bare),
        Err(Unfaithful::Unread { line: 0, .. })
    ));
    // a model's guess about the order is a value that nothing vouches for
    let guess = written(&["Box: [174, 450, 469, 658] (x1, y1, x2, y2; 0..1000; picture 7)"]);
    assert!(matches!(
        check(&source, &guess),
        Err(Unfaithful::Invented { .. } | Unfaithful::Unread { .. })
    ));
}

#[test]
fn a_value_of_the_call_is_not_repeated_even_when_json_escapes_it() {
    let text = "I move C:\\Users\\Ann to the café \"Où\" and note 4711.";
    let call = "{\"from\": \"C:\\\\Users\\\\Ann\", \"label\": \"O\\u00f9\"}";
    let source = Source {
        text,
        sensitive: &all(text),
        call,
        ..Source::default()
    };
    assert_eq!(lines(&source), ["Number: note 4711"]);
    let repeated = written(&["Number: note 4711", "Text: 'Où'"]);
    assert!(matches!(
        check(&source, &repeated),
        Err(Unfaithful::Repeated { line: 1, .. })
    ));
}

#[test]
fn a_superseded_value_is_not_written_and_not_missed() {
    let text = "The plate looks like AB-4471, I think. The colour code is RAL-3020.";
    let source = Source {
        text,
        sensitive: &all(text),
        superseded: &[0],
        ..Source::default()
    };
    assert_eq!(lines(&source), ["Code: The colour code is RAL-3020"]);
    let stale = written(&["Code: RAL-3020", "Code: AB-4471"]);
    assert!(matches!(
        check(&source, &stale),
        Err(Unfaithful::Superseded { line: 1, .. })
    ));
}

/// A list is the same value however its spaces stand, and a quotation whatever its quotes.
#[test]
fn a_value_in_two_spellings_is_one_value() {
    let text =
        "It was [1, 2, 3, 4], or 'Hop  Inn'. Now [1,\n2, 3,\n4] stands there, or \"Hop Inn\".";
    let mentions = |superseded: &[usize], only_here: &[usize]| {
        lines(&Source {
            text,
            superseded,
            only_here,
            ..Source::default()
        })
    };
    let note = "(order, unit and picture not stated)";
    let lists = mentions(&[0], &[2]);
    assert_eq!(
        lists,
        [format!(
            "Box: [1, 2, 3, 4] stands there, or \"Hop Inn\" {note}"
        )]
    );
    let names = mentions(&[1], &[3]);
    assert_eq!(
        names,
        [format!(
            "Text: [1, 2, 3, 4] stands there, or \"Hop Inn\" {note}"
        )]
    );
}

#[test]
fn lines_of_a_model_are_held_to_the_same_rules() {
    let text = "The sign reads \"Stop\" and the distance is 12.50 m.";
    let source = Source {
        text,
        sensitive: &all(text),
        ..Source::default()
    };
    for good in [
        "Evidence:\n- Text: 'Stop'\n- Number: 12.50 m",
        "Sign: “Stop”\n\nDistance: 12.50 m",
    ] {
        assert_eq!(
            check(&source, &Evidence::from_text(good).lines),
            Ok(()),
            "{good}"
        );
    }
    for (bad, why) in [
        ("Text: 'Stop'\nNumber: 12.5 m", "a digit less"),
        ("Text: 'Stop'\nNumber: -12.50 m", "a sign more"),
        ("Text: 'Stop'\nNumber: 12.50 mm", "another unit"),
        ("Text: 'Stop'", "a value less"),
        (
            "Text: 'Halt'\nText: 'Stop'\nNumber: 12.50 m",
            "another string",
        ),
        ("Text: 'Stop'\nNumber: 12.50 m\nNumber: 3", "a value more"),
        ("", "nothing"),
    ] {
        assert!(
            check(&source, &Evidence::from_text(bad).lines).is_err(),
            "{why}"
        );
    }
    assert!(matches!(
        check(&source, &written(&["Text: 'Stop'\nNumber: 12.50 m"])),
        Err(Unfaithful::NotALine { .. })
    ));
    assert!(matches!(
        check(&source, &written(&["Text: "])),
        Err(Unfaithful::NotALine { .. })
    ));
}

#[test]
fn nothing_is_kept_where_nothing_must_be() {
    let text = "I keep the question in mind while I work, and 42 was no help.";
    assert!(
        extract(&Source {
            text,
            ..Source::default()
        })
        .is_empty()
    );
    assert!(
        extract(&Source {
            text,
            sensitive: &[0..10],
            ..Source::default()
        })
        .is_empty()
    );
    assert!(extract(&Source::default()).is_empty());
    assert_eq!(
        extract(&Source {
            text,
            only_here: &[0],
            ..Source::default()
        })
        .lines
        .len(),
        1
    );
}

#[test]
fn evidence_goes_through_json_and_leaves_an_empty_anchor_out() {
    let evidence = Evidence {
        lines: written(&["Number: 5"]),
    };
    let json = serde_json::to_string(&evidence).unwrap();
    assert_eq!(json, "{\"lines\":[{\"text\":\"Number: 5\"}]}");
    assert_eq!(serde_json::from_str::<Evidence>(&json).unwrap(), evidence);
    let anchored: Line =
        serde_json::from_str("{\"text\":\"Number: 5\",\"anchor\":\"p1\"}").unwrap();
    assert_eq!(anchored.anchor.as_deref(), Some("p1"));
}

/// A note is what stands behind a box; the same words of the segment itself are words, and what stands in a note alone is not kept.
#[test]
fn a_note_hides_no_value() {
    let space = |picture: &str| BoxSpace {
        order: Some(BoxOrder::Xyxy),
        unit: Some(BoxUnit::Pixels),
        picture: Some(picture.into()),
        picture_size: None,
    };
    for (text, picture) in [
        (
            "Read as serial 0x7F (x1, y1, x2, y2; pixels; picture 0)",
            "0",
        ),
        (
            "The box is [1, 2, 3, 4]. I saw it in observation_1, and not before.",
            "observation_1",
        ),
    ] {
        let source = Source {
            text,
            sensitive: &[0..text.len()],
            space: Some(space(picture)),
            ..Source::default()
        };
        for layout in Layout::ALL {
            let evidence = extract_within(&source, layout);
            assert_eq!(check(&source, &evidence.lines), Ok(()), "{evidence:?}");
        }
    }
}
