//! Conversations that come to nothing.

use super::*;

#[test]
fn a_conversation_that_comes_to_nothing_says_why() {
    let of = |said: &[&[u8]]| {
        let mut server = server(Limits::default());
        said.iter().for_each(|bytes| drop(server.on_bytes(bytes, false, at(1))));
        server.fruitless()
    };
    let [hello, asked, ask] =
        [hello(), Message::Request(request()), Message::Ask].map(|message| bytes(&message));
    let complaint =
        bytes(&Message::Complaint(ProtocolError { code: ComplaintCode::State, message: "no".into() }));
    for (said, why) in [
        (&[][..], Some(AbortReason::NoRequest)),
        (&[&hello[..]][..], Some(AbortReason::NoRequest)),
        (&[&complaint[..]], Some(AbortReason::NoRequest)),
        (&[b"GET / HTTP/1.1\r\n"], Some(AbortReason::InvalidMessage)),
        (&[b"{}hello"], Some(AbortReason::InvalidMessage)),
        (&[&[0xff; 64]], Some(AbortReason::InvalidMessage)),
        (&[&[0, 0, 0, 2, 1, b'{']], Some(AbortReason::InvalidMessage)),
        (&[&hello, &ask], Some(AbortReason::InvalidMessage)),
        (&[&hello, &asked], None),
        (&[&hello, &ask, &asked], None),
    ] {
        assert_eq!(of(said), why, "{said:?}");
    }
    let others = Others { all_sessions: true, ..Others::default() };
    let mut full = server(Limits { others, ..Limits::default() });
    say(&mut full, &super::hello());
    say(&mut full, &Message::Request(request()));
    assert_eq!(full.fruitless(), None, "it was refused in words");
}
