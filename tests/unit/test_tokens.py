"""Space tokens: what is in them, and every way of forging one that we know of."""

import base64
import hashlib
import hmac
import json

import jwt
import pytest
from am_server.errors import NotConfigured
from am_server.identity.memberships import MAX_TOKEN_SPACES
from am_server.identity.tokens import MAX_TOKEN_CHARS, SpaceTokens, TokenRefused

from tests.unit.identity_tools import SECRET, StoppedClock

UID = "0123456789abcdef" * 2
DID = f"did:fetch:{UID}"


@pytest.fixture
def clock():
    return StoppedClock()


@pytest.fixture
def tokens(clock):
    return SpaceTokens([SECRET], clock)


@pytest.fixture
def claims(tokens):
    return jwt.decode(tokens.mint(DID, "pro", ["s1"]).token, options={"verify_signature": False})


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def signed(claims, secret=SECRET, header=None, digest=hashlib.sha256):
    """A token made by hand, so that no library refuses to make a bad one."""
    payload = claims if isinstance(claims, bytes) else json.dumps(claims).encode()
    text = f"{b64(json.dumps(header or {'alg': 'HS256', 'typ': 'JWT'}).encode())}.{b64(payload)}"
    return f"{text}.{b64(hmac.new(secret.encode(), text.encode(), digest).digest())}"


def refusal(tokens, token):
    with pytest.raises(TokenRefused) as refused:
        tokens.verify(token)
    assert refused.value.message.startswith(refused.value.fault + ": ")
    return refused.value.fault


def test_a_token_says_who_and_where(tokens, clock, claims):
    now = clock.now() // 1_000_000
    assert claims == {"sub": DID, "iss": "agentverse-memory", "aud": "am-server", "spaces": ["s1"], "tier": "pro",
                      "iat": now, "exp": now + 3600}  # fmt: skip
    minted = tokens.mint(DID, "pro", ["s1", "s2"], ttl=60)
    assert (minted.issued_at, minted.expires_at) == (now, now + 60)
    read = tokens.verify(minted.token)
    assert (read.agent_uid, read.spaces) == (UID, ("s1", "s2"))


def test_a_token_made_by_hand_with_the_secret_is_good(tokens, claims):
    assert tokens.verify(signed(claims)).agent_uid == UID


def test_a_token_of_as_many_spaces_as_allowed_is_good(tokens):
    token = tokens.mint(DID, "enterprise", ["0" * 32] * MAX_TOKEN_SPACES).token
    assert len(token) < MAX_TOKEN_CHARS
    assert len(tokens.verify(token).spaces) == MAX_TOKEN_SPACES


def test_it_expires_on_the_second(tokens, clock):
    token = tokens.mint(DID, "pro", [], ttl=60).token
    clock.advance(59)
    tokens.verify(token)
    clock.advance(1)
    assert refusal(tokens, token) == "jwt_expired"


@pytest.mark.parametrize(("change", "fault"), [
    ({"iss": "somebody-else"}, "jwt_invalid_issuer"),
    ({"iss": ["agentverse-memory"]}, "jwt_invalid_issuer"),
    ({"aud": "other-server"}, "jwt_invalid_audience"),
    ({"aud": ["am-server", "other"]}, "jwt_invalid_audience"),
    ({"aud": "am-server/invitation"}, "jwt_invalid_audience"),
    ({"exp": 1}, "jwt_expired"),
    ({"exp": -1}, "jwt_expired"),
    ({"exp": "4102444800"}, "jwt_missing_claim"),
    ({"exp": True}, "jwt_missing_claim"),
    ({"exp": [4102444800]}, "jwt_missing_claim"),
    ({"exp": float("inf")}, "jwt_missing_claim"),
    ({"exp": float("nan")}, "jwt_missing_claim"),
    ({"iat": "now"}, "jwt_missing_claim"),
    ({"sub": "somebody"}, "jwt_missing_claim"),
    ({"sub": "did:fetch:../../accounts"}, "jwt_missing_claim"),
    ({"sub": DID + "\n"}, "jwt_missing_claim"),
    ({"sub": 7}, "jwt_missing_claim"),
    ({"spaces": "s1"}, "jwt_missing_claim"),
    ({"spaces": [1]}, "jwt_missing_claim"),
], ids=str)  # fmt: skip
def test_a_wrong_claim_is_named(tokens, claims, change, fault):
    assert refusal(tokens, signed({**claims, **change})) == fault


@pytest.mark.parametrize("name", ["sub", "iss", "aud", "spaces", "exp", "iat"])
@pytest.mark.parametrize("null", [True, False])
def test_a_missing_claim_is_named(tokens, claims, name, null):
    rest = {key: value for key, value in claims.items() if key != name} | ({name: None} if null else {})
    assert refusal(tokens, signed(rest)) == "jwt_missing_claim"


@pytest.mark.parametrize("header", [
    {"alg": "none"}, {"alg": "None"}, {"alg": "NONE", "typ": "JWT"}, {"alg": ""}, {"typ": "JWT"}, {"alg": None},
    {"alg": ["HS256"]}, {"alg": "HS512"}, {"alg": "hs256"}, {"alg": "RS256"}, {"alg": "ES256"},
    {"alg": "HS256", "crit": ["exp"], "exp": 1},
    {"alg": "HS256", "b64": False, "crit": ["b64"]}, {"alg": "HS256", "zip": "DEF", "crit": ["zip"]},
], ids=str)  # fmt: skip
def test_the_header_does_not_choose_the_algorithm(tokens, claims, header):
    assert refusal(tokens, signed(claims, header=header)) == "jwt_invalid_signature"
    head, payload, _ = signed(claims, header=header).split(".")
    assert refusal(tokens, f"{head}.{payload}.") == "jwt_invalid_signature"


def test_another_digest_under_the_right_name(tokens, claims):
    assert refusal(tokens, signed(claims, digest=hashlib.sha512)) == "jwt_invalid_signature"


@pytest.mark.parametrize("kid", ["../../dev/null", "' UNION SELECT 'x'; --", "https://evil.example/key", "0", "", "x" * 2_000])
@pytest.mark.parametrize("more", [{}, {"jku": "https://evil.example/jwks"}, {"jwk": {"kty": "oct", "k": b64(b"evil")}}], ids=str)
def test_the_header_does_not_choose_the_key(tokens, claims, kid, more):
    for secret in ("", "evil", "x"):
        forged = signed(claims, secret, {"alg": "HS256", "kid": kid, **more})
        assert refusal(tokens, forged) == "jwt_invalid_signature"


@pytest.mark.parametrize("secret", ["", " ", SECRET + "x", SECRET[:-1], SECRET.upper(), "secret"])
def test_another_secret(tokens, claims, secret):
    assert refusal(tokens, signed(claims, secret)) == "jwt_invalid_signature"


def test_a_changed_payload(tokens, claims):
    head, _, signature = signed(claims).split(".")
    for change in ({"tier": "enterprise"}, {"spaces": ["s1", "s2"]}, {"sub": "did:fetch:" + "f" * 32}):
        payload = b64(json.dumps({**claims, **change}).encode())
        assert refusal(tokens, f"{head}.{payload}.{signature}") == "jwt_invalid_signature"


def test_every_changed_character_of_the_signature(tokens, claims):
    text, _, signature = signed(claims).rpartition(".")
    for place in range(len(signature) - 1):  # the last one has bits that stand for nothing
        other = "A" if signature[place] != "A" else "B"
        assert refusal(tokens, f"{text}.{signature[:place]}{other}{signature[place + 1 :]}") == "jwt_invalid_signature"


@pytest.mark.parametrize("text", [
    "", ".", "..", "...", "a.b.c", "a.b", "null", "é.ü.ñ", "\ud800", "\x00", " ", "{}", "am_" + "x" * 43, "=.=.=",
], ids=repr)  # fmt: skip
def test_what_is_no_token(tokens, text):
    assert refusal(tokens, text) == "jwt_invalid_signature"


@pytest.mark.parametrize("payload", [b"[]", b"null", b"7", b'"text"', b"", b"{", b"\xff\xfe", b'{"a":' * 2_000, b"[" * 6_000])
def test_a_signed_payload_that_is_no_object(tokens, payload):
    assert refusal(tokens, signed(payload)) == "jwt_invalid_signature"


def test_an_endless_token_is_not_read(tokens, claims):
    assert refusal(tokens, signed({**claims, "x": "x" * MAX_TOKEN_CHARS})) == "jwt_invalid_signature"
    assert refusal(tokens, "." * 10_000_000) == "jwt_invalid_signature"


def test_claims_twice_in_the_payload_are_signed_as_they_are(tokens, claims):
    text = json.dumps(claims)[:-1] + ', "aud": "other-server"}'
    assert refusal(tokens, signed(text.encode())) == "jwt_invalid_audience"


# --- rotation


def test_the_first_secret_signs_and_all_verify(clock):
    first, second = "the old secret, which is long enough", "the new secret, which is long enough"
    old, new = SpaceTokens([first], clock), SpaceTokens([second, first], clock)
    assert new.verify(old.mint(DID, "pro", []).token).agent_uid == UID
    assert refusal(old, new.mint(DID, "pro", []).token) == "jwt_invalid_signature"
    dropped = SpaceTokens([second], clock)
    assert refusal(dropped, old.mint(DID, "pro", []).token) == "jwt_invalid_signature"


def test_without_a_secret_nothing_is_made_and_nothing_is_good(clock, claims):
    without = SpaceTokens([], clock)
    with pytest.raises(NotConfigured, match="JWT_SECRET is unset"):
        without.mint(DID, "pro", [])
    with pytest.raises(NotConfigured, match="JWT_SECRET is unset"):
        without.invite(UID, "s1", "reader", None)
    for token in (signed(claims), signed(claims, ""), signed(claims, header={"alg": "none"})):
        assert refusal(without, token) == "jwt_invalid_signature"


# --- invitations


def test_an_invitation_says_where_and_as_what(tokens, clock):
    text, expires_at = tokens.invite(UID, "s1", "writer", "my-agent")
    read = tokens.read_invitation(text)
    assert (read.author, read.space_id, read.role, read.agent, read.expires_at) == (UID, "s1", "writer", "my-agent", expires_at)
    assert expires_at - clock.now() // 1_000_000 == 7 * 86_400
    assert tokens.read_invitation(tokens.invite(UID, "s1", "reader", None)[0]).agent is None


def test_two_invitations_are_two(tokens):
    ids = {tokens.read_invitation(tokens.invite(UID, "s1", "reader", None)[0]).id for _ in range(3)}
    assert len(ids) == 3


def test_an_invitation_expires(tokens, clock):
    text, _ = tokens.invite(UID, "s1", "reader", None)
    clock.advance(7 * 86_400)
    with pytest.raises(TokenRefused, match="jwt_expired"):
        tokens.read_invitation(text)


def test_an_invitation_is_no_token_and_a_token_no_invitation(tokens, claims):
    assert refusal(tokens, tokens.invite(UID, "s1", "owner", None)[0]) == "jwt_invalid_signature"
    for token in (signed(claims), signed({**claims, "aud": "am-server/invitation", "jti": "1", "space": "s1", "role": "owner"})):
        with pytest.raises(TokenRefused, match="jwt_invalid_signature"):
            tokens.read_invitation(token)
