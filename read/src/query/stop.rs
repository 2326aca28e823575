//! Words that carry no content in a question: function words, question words, polite requests.

use std::collections::HashSet;
use std::sync::LazyLock;

const ENGLISH: &str = "a an the of in on at to for from by with and or not no is are was were be been being am do does did done has have had having it its this that these those there here \
    what which who whom whose where when why how much many can could will would shall should may might must i you he she we they me my your our their us them his her him as if so than then \
    too very just about into over under between out up down off also any all some each every both either neither other another such only own same please give tell show find look need want \
    know get let s t d ll re ve m";
const RUSSIAN: &str = "и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по только ее её мне было вот от меня еще ещё нет о об из ему когда даже ну ли если уже или ни быть \
    был него до вас для нам мы их чем была сам без раз себе под где есть ней тут кто этот эта это эти того какой каков какова каково каковы какая какие сколько почему зачем через при про над которая который которые \
    чего кому нужен нужна нужно найдите покажите скажите дайте известно пожалуйста составляет составил составила составляют";
const ARABIC: &str = "في من على إلى الى عن مع هو هي ما ماذا هل كم أين متى كيف لماذا أي الذي التي هذا هذه ذلك تلك أن إن كان كانت قد لا لم لن ثم أو و لديه لديها له لها فهو وهو أحتاج أريد فضلك ابحث أخبرني أعط يبلغ";
const CHINESE: &str = "的 是 在 了 和 与 及 把 被 吗 呢 吧 啊 为 于 有 多少 什么 哪些 哪个 哪里 谁 几 怎么 怎样 如何 为何 为什么 请问 请 麻烦 帮忙 帮我 查询 告诉 我 你 您 一下 需要 想知道 多久 何时 其 该 这 那";
/// Hiragana that binds words is no content either way; these are what else stands in questions.
const JAPANESE: &str = "何 誰 幾 教 知 調 下";

static WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    [ENGLISH, RUSSIAN, ARABIC]
        .iter()
        .flat_map(|words| words.split_whitespace())
        .collect()
});
static JOINED: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let mut words: Vec<&str> = CHINESE
        .split_whitespace()
        .chain(JAPANESE.split_whitespace())
        .collect();
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    words
});

/// Whether a lower-case word carries no content.
pub fn is_stop(word: &str) -> bool {
    WORDS.contains(word)
}

/// The parts of a run of Chinese or Japanese between words without content.
pub fn between_stops(run: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while let Some(rest) = run.get(at..).filter(|rest| !rest.is_empty()) {
        if let Some(stop) = JOINED.iter().find(|stop| rest.starts_with(**stop)) {
            parts.push(run.get(start..at).unwrap_or_default());
            at += stop.len();
            start = at;
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    parts.push(run.get(start..).unwrap_or_default());
    parts.retain(|part| !part.is_empty());
    parts
}
