//! Answers of many megabytes in each protocol, and how somebody else would read them.

use std::fmt::Write as _;

use eventsource_stream::Eventsource;
use futures_util::StreamExt;
use haft_provider::sse::EventReader;
use haft_provider::{Adapter, Anthropic, Delta, Gemini, Model, ModelTurn, OpenAiChat, OpenAiResponses, Protocol};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// How many bytes come at once.
const PIECE: usize = 16 << 10;

/// A stream with this many bytes and a little more. Most of it is text in the usual small pieces, as servers send them.
pub(crate) fn stream(protocol: Protocol, bytes: usize) -> Vec<u8> {
    let words = ["The", " answer", " is", " in", " `src/main.rs`", ",", " where", " the \\\"loop\\\"", " begins", ".\\n"];
    let (head, tail) = ends(protocol);
    let mut text = String::with_capacity(bytes + 4096);
    text.push_str(head);
    for (number, word) in (1..).zip(words.iter().cycle()) {
        event(protocol, number, word, &mut text);
        if text.len() >= bytes {
            break;
        }
    }
    text.push_str(tail);
    text.into_bytes()
}

fn event(protocol: Protocol, number: usize, word: &str, text: &mut String) {
    let written = match protocol {
        Protocol::OpenAiResponses => write!(
            text,
            "event: response.output_text.delta\ndata: {{\"type\":\"response.output_text.delta\",\"sequence_number\":{number},\
             \"item_id\":\"msg_67c9fdcf37fc8190ba82116e33fb28c5\",\"output_index\":0,\"content_index\":0,\"delta\":\"{word}\",\
             \"logprobs\":[],\"obfuscation\":\"mJ2k1b\"}}\n\n"
        ),
        Protocol::Anthropic => write!(
            text,
            "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\
             \"text\":\"{word}\"}}}}\n\n"
        ),
        Protocol::Gemini => write!(
            text,
            "data: {{\"candidates\": [{{\"content\": {{\"parts\": [{{\"text\": \"{word}\"}}],\"role\": \"model\"}},\"index\": 0}}],\
             \"usageMetadata\": {{\"promptTokenCount\": 310,\"candidatesTokenCount\": {number},\"totalTokenCount\": 400,\
             \"promptTokensDetails\": [{{\"modality\": \"TEXT\",\"tokenCount\": 310}}]}},\"modelVersion\": \"gemini-2.5-pro\",\
             \"responseId\": \"q3xPaNf0J7Wnz7IPxMvByQg\"}}\n\n"
        ),
        _ => write!(
            text,
            "data: {{\"id\":\"chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG\",\"object\":\"chat.completion.chunk\",\"created\":1741570283,\
             \"model\":\"gpt-5.2\",\"service_tier\":\"default\",\"system_fingerprint\":\"fp_06737a9306\",\"choices\":[{{\"index\":0,\
             \"delta\":{{\"content\":\"{word}\"}},\"logprobs\":null,\"finish_reason\":null}}],\"usage\":null,\"obfuscation\":\"x7\"}}\n\n"
        ),
    };
    written.expect("a string takes everything");
}

/// What stands before the text, and behind it.
const fn ends(protocol: Protocol) -> (&'static str, &'static str) {
    match protocol {
        Protocol::OpenAiResponses => (
            "event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"id\":\
             \"msg_67c9fdcf37fc8190ba82116e33fb28c5\",\"type\":\"message\",\"content\":[]}}\n\n",
            "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n\n",
        ),
        Protocol::Anthropic => (
            "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
            "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\nevent: message_delta\n\
             data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n",
        ),
        Protocol::Gemini => ("", "data: {\"candidates\": [{\"finishReason\": \"STOP\"}]}\n\n"),
        _ => ("", "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"),
    }
}

fn adapter(protocol: Protocol) -> &'static dyn Adapter {
    match protocol {
        Protocol::OpenAiResponses => &OpenAiResponses,
        Protocol::Anthropic => &Anthropic,
        Protocol::Gemini => &Gemini,
        _ => &OpenAiChat,
    }
}

/// Why a stream could not be read.
type Broken = Box<dyn std::error::Error>;

/// Reads a stream as the client does, and hands out the deltas; gives the bytes of text.
pub(crate) fn decode(protocol: Protocol, stream: &[u8]) -> usize {
    let model = Model::new("here", protocol, "m");
    let mut decoder = adapter(protocol).decoder(&ModelTurn { model: &model, system: "", messages: &[], tools: &[] });
    let (mut events, mut deltas, mut said) = (EventReader::new(), Vec::new(), 0);
    for piece in stream.chunks(PIECE) {
        let fed = events.feed(piece, |name, data| {
            decoder.event(name, data, &mut deltas)?;
            said += deltas.drain(..).map(|delta| if let Delta::Text(text) = delta { text.len() } else { 0 }).sum::<usize>();
            Ok::<(), Broken>(())
        });
        fed.expect("a stream of the protocol");
    }
    let reply = decoder.finish(&mut deltas).expect("an answer that came to its end");
    assert_eq!(reply.blocks.len(), 1);
    said
}

/// The same bytes through `eventsource-stream`; each event goes to `take`.
pub(crate) async fn reference(stream: &[u8], mut take: impl FnMut(&str)) {
    let pieces = stream.chunks(PIECE).map(|piece| Ok::<_, std::convert::Infallible>(piece.to_vec()));
    let mut events = std::pin::pin!(futures_util::stream::iter(pieces).eventsource());
    while let Some(event) = events.next().await {
        take(&event.expect("a stream of events").data);
    }
}

/// Parses an event into types that hold the text and nothing else; gives the bytes of text.
pub(crate) fn typed(protocol: Protocol, data: &str) -> usize {
    fn read<T: DeserializeOwned>(data: &str) -> Option<T> {
        serde_json::from_str(data).ok()
    }
    let text = match protocol {
        Protocol::OpenAiResponses => read::<Responses>(data).and_then(|event| event.delta),
        Protocol::Anthropic => read::<Messages>(data).and_then(|event| event.delta?.text),
        Protocol::Gemini => {
            read::<Content>(data).and_then(|event| event.candidates.into_iter().next()?.content?.parts.into_iter().next()?.text)
        }
        _ => read::<Chat>(data).and_then(|event| event.choices.into_iter().next()?.delta.content),
    };
    text.map_or(0, |text| text.len())
}

#[derive(Deserialize)]
struct Chat {
    choices: Vec<Choice>,
}
#[derive(Deserialize)]
struct Choice {
    delta: Said,
}
#[derive(Deserialize)]
struct Said {
    content: Option<String>,
}
#[derive(Deserialize)]
struct Responses {
    delta: Option<String>,
}
#[derive(Deserialize)]
struct Messages {
    delta: Option<Text>,
}
#[derive(Deserialize)]
struct Text {
    text: Option<String>,
}
#[derive(Deserialize)]
struct Content {
    candidates: Vec<Candidate>,
}
#[derive(Deserialize)]
struct Candidate {
    content: Option<Parts>,
}
#[derive(Deserialize)]
struct Parts {
    parts: Vec<Text>,
}
