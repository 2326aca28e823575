//! How are things said? Sentences with places for what they are about (`{a}`) and its value (`{v}`).

/// Ways of saying one thing: the first are used everywhere, the rest in test runs only, so that a rule that learnt sentences shows it.
pub(super) struct Ways {
    pub(super) all: &'static [&'static str],
    pub(super) test: &'static [&'static str],
}

pub(super) const READ: Ways = Ways {
    all: &[
        "The crop shows that {a} is {v}.",
        "Now I can read it: {a} is {v}.",
        "Zoomed in, {a} is {v}.",
        "The picture is sharp here, and {a} is clearly {v}.",
        "From this view I take {v} for {a}.",
        "Here it says {v}, so that is {a}.",
    ],
    test: &[
        "With the zoom it is plain: {v} is {a}.",
        "So {a} must be {v}.",
        "I get {v} when I look for {a}.",
    ],
};

pub(super) const GUESS: Ways = Ways {
    all: &[
        "At this size {a} looks like {v}.",
        "My first guess for {a} is {v}.",
        "It might be {v}, but I am not sure.",
        "From here I would say that {a} is {v}.",
        "I think that {a} is {v}.",
    ],
    test: &[
        "{a} seems to be {v} in the overview.",
        "I first read {v} for {a}.",
        "As far as I can see, {a} is {v}.",
    ],
};

pub(super) const REPEAT: Ways = Ways {
    all: &[
        "For now I take {a} to be {v}.",
        "As noted, {a} is probably {v}.",
    ],
    test: &["I keep in mind that {a} was {v} at first sight."],
};

pub(super) const RESTATE: Ways = Ways {
    all: &[
        "So far I have {v} for {a}.",
        "I already know that {a} is {v}.",
    ],
    test: &["Remember that {a} is {v}."],
};

pub(super) const TOOL_READ: Ways = Ways {
    all: &[
        "The tool returns {v} for {a}.",
        "The recognised text says that {a} is {v}.",
    ],
    test: &["According to the text tool {a} is {v}."],
};

pub(super) const SUM: Ways = Ways {
    all: &[
        "Adding them up, {a} comes to {v}.",
        "Together that makes {v} for {a}.",
    ],
    test: &["I add both and get {v} as {a}."],
};

pub(super) const DIFFERENCE: Ways = Ways {
    all: &[
        "Comparing the two, {a} is {v}.",
        "One is larger, and {a} is {v}.",
    ],
    test: &["I subtract and get {v} as {a}."],
};

pub(super) const FIRST_SIGHT: Ways = Ways {
    all: &[
        "At first sight {a} looks like {v}.",
        "At a glance I would say that {a} is {v}.",
    ],
    test: &["In the overview {a} could be {v}."],
};

pub(super) const FIRST: Ways = Ways {
    all: &["First I need {a}.", "I begin with {a}."],
    test: &["The first thing to find is {a}."],
};

pub(super) const NEXT: Ways = Ways {
    all: &[
        "Next I need {a}.",
        "That leaves {a}.",
        "Then I look for {a}.",
    ],
    test: &["The next thing to find is {a}."],
};

pub(super) const NEED: Ways = Ways {
    all: &[
        "It is too small to read here, so I zoom in.",
        "I should crop this part before I trust any reading.",
        "I cannot make it out at this size, so I crop it.",
    ],
    test: &["A closer look will settle it."],
};

pub(super) const PLACE: Ways = Ways {
    all: &[
        "It is around {v}.",
        "I find it at about {v} in the picture.",
    ],
    test: &["The region {v} should hold it."],
};

/// Sentences that carry nothing.
pub(super) const FILLER: Ways = Ways {
    all: &[
        "Let me keep going step by step.",
        "I keep the question in mind while I work.",
        "So far the plan is working well.",
        "There is a lot in this picture, and I only need some of it.",
        "I will stay careful and check each thing that the question names.",
        "The light is a little dim, but the picture is good enough.",
        "I want to be sure before I write anything down.",
        "The background does not matter for this.",
        "It helps to look at one part after the other.",
        "Nothing here contradicts what I saw before.",
        "The rest of the scene looks ordinary.",
        "I do not need any other tool for this.",
        "This part of the picture is a bit blurred at the edges.",
        "The camera seems to stand slightly to the left.",
        "I remind myself that the answer has to be exact.",
        "There are some shadows, which makes it harder to see.",
    ],
    test: &[
        "A few people in the background are not important.",
        "It is worth looking twice.",
        "The colours are fairly clear in this part.",
        "I would rather check once more than be wrong.",
    ],
};

/// Sentences with a number that nothing needs; `{v}` is it.
pub(super) const NUMBERED: Ways = Ways {
    all: &[
        "This is step {v} of my plan.",
        "I zoom by a factor of {v} to be safe.",
        "The overview is {v} pixels wide.",
    ],
    test: &["I allow myself {v} more looks."],
};
