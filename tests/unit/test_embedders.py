"""The embedders: providers over HTTP against a local server that speaks their API, and the built-in word table."""

from __future__ import annotations

import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from am_server.embed.http import Patience
from am_server.embed.minilm import MiniLmEmbedder
from am_server.embed.openai import OpenAiEmbedder
from am_server.embed.port import EmbedderUnavailable
from am_server.embed.static import StaticEmbedder
from am_server.embed.vertex import VertexEmbedder

TEXTS = ["The cat sleeps on the warm sofa", "A kitten naps on a couch", "The quarterly budget was approved"]


def encoder():
    """Real sentence vectors where the extra is installed, else those of the word table."""
    minilm = MiniLmEmbedder()
    try:
        minilm.embed(["x"])
    except EmbedderUnavailable:
        return StaticEmbedder()
    return minilm


class Provider(ThreadingHTTPServer):
    """Answers as told: `script` holds statuses to fail with first; `answer` turns the request's body into the reply."""

    def __init__(self, answer):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer, self.script, self.retry_after, self.requests = answer, [], None, []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, dict(self.headers), body))
        status = self.server.script.pop(0) if self.server.script else 200
        reply = json.dumps(self.server.answer(body) if status == 200 else {"error": "secret-key was refused"}).encode()
        self.send_response(status)
        if self.server.retry_after and status != 200:
            self.send_header("Retry-After", self.server.retry_after)
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_):
        pass


def openai_answer(embedder, as_base64=True):
    def answer(body):
        vectors = embedder.embed(body["input"]) * 3  # a provider owes no unit length
        shown = [base64.b64encode(v.astype("<f4").tobytes()).decode() if as_base64 else v.tolist() for v in vectors]
        data = [{"object": "embedding", "index": i, "embedding": each} for i, each in enumerate(shown)]
        return {"object": "list", "data": data[::-1], "model": body["model"]}

    return answer


@pytest.fixture
def serve():
    started = []

    def start(answer):
        started.append(Provider(answer))
        return started[-1]

    yield start
    for provider in started:
        provider.shutdown()
        provider.server_close()


def openai(provider, dimension, **patience):
    quick = Patience(**{"first_wait": 0.01, "timeout": 2, **patience})
    return OpenAiEmbedder("secret-key", provider.url + "/v1", dimension=dimension, patience=quick)


@pytest.mark.parametrize("as_base64", [True, False])
def test_openai_vectors_arrive_in_order_at_unit_length(serve, as_base64):
    source = encoder()
    provider = serve(openai_answer(source, as_base64))
    vectors = openai(provider, source.dimension).embed([TEXTS[0], "  ", *TEXTS[1:]])
    assert np.allclose(vectors[[0, 2, 3]], source.embed(TEXTS), atol=1e-5)
    assert not vectors[1].any(), "a blank text is not sent and stays zeros"
    assert vectors[0] @ vectors[2] > vectors[0] @ vectors[3] + 0.2, (
        "the cat and the kitten are nearer than the cat and the budget"
    )
    [(path, headers, body)] = provider.requests
    assert path == "/v1/embeddings"
    assert headers["Authorization"] == "Bearer secret-key"
    assert (body["model"], body["input"]) == ("text-embedding-3-small", TEXTS)


def test_openai_sends_many_texts_in_batches(serve):
    source = StaticEmbedder()
    provider = serve(openai_answer(source))
    vectors = openai(provider, 256).embed([f"note about {word}" for word in ("rain", "snow") * 300])
    assert [len(body["input"]) for _, _, body in provider.requests] == [512, 88]
    assert np.allclose(vectors[0], vectors[598])
    assert not np.allclose(vectors[0], vectors[599])


def test_a_very_long_text_is_cut(serve):
    provider = serve(openai_answer(StaticEmbedder()))
    openai(provider, 256).embed(["word " * 20_000])
    assert len(provider.requests[0][2]["input"][0]) == 6_000


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_provider_is_asked_again(serve, status):
    provider = serve(openai_answer(StaticEmbedder()))
    provider.script = [status, status]
    assert openai(provider, 256).embed(["rain"]).any()
    assert len(provider.requests) == 3


@pytest.mark.parametrize(("script", "tries"), [([503] * 9, 3), ([401], 1), ([400], 1)])
def test_a_refusal_is_told_without_the_key(serve, script, tries):
    provider = serve(openai_answer(StaticEmbedder()))
    provider.script = script
    with pytest.raises(EmbedderUnavailable) as problem:
        openai(provider, 256).embed(["rain"])
    assert len(provider.requests) == tries
    assert "secret-key" not in problem.value.message
    assert problem.value.__cause__ is None


def test_a_provider_that_asks_for_a_long_wait_is_left_alone(serve):
    provider = serve(openai_answer(StaticEmbedder()))
    provider.script, provider.retry_after = [429], "60"
    with pytest.raises(EmbedderUnavailable):
        openai(provider, 256).embed(["rain"])
    assert len(provider.requests) == 1


def test_a_silent_provider_does_not_hold_a_search_up(serve):
    release = threading.Event()
    provider = serve(lambda body: release.wait(5) and {})
    with pytest.raises(EmbedderUnavailable):
        openai(provider, 256, timeout=0.1, attempts=2).embed(["rain"])
    release.set()


@pytest.mark.parametrize(
    "answer",
    [
        lambda body: {"data": [{"index": 0, "embedding": [1.0, 2.0]}]},
        lambda body: {"data": []},
        lambda body: {"data": [{"index": 0, "embedding": [0.0] * 256}]},
        lambda body: {"data": [{"index": 0, "embedding": "no base64"}]},
        lambda body: {"data": [{"index": 0, "embedding": None}]},
        lambda body: [],
    ],
    ids=["dimension", "count", "zeros", "encoding", "null", "shape"],
)
def test_an_answer_that_is_no_vector_is_refused(serve, answer):
    with pytest.raises(EmbedderUnavailable):
        openai(serve(answer), 256).embed(["rain"])


def test_nobody_listens():
    with pytest.raises(EmbedderUnavailable):
        OpenAiEmbedder("k", "http://127.0.0.1:9/v1", patience=Patience(first_wait=0.01, attempts=2)).embed(["rain"])


def test_vertex_vectors(serve):
    source = StaticEmbedder()

    def answer(body):
        vectors = np.pad(source.embed([each["content"] for each in body["instances"]]), ((0, 0), (0, 768 - 256)))
        return {"predictions": [{"embeddings": {"values": vector.tolist()}} for vector in vectors]}

    provider = serve(answer)
    embedder = VertexEmbedder("my-project", "europe-west1", base_url=provider.url, token=lambda: "ya29.token")
    vectors = embedder.embed(TEXTS)
    assert vectors.shape == (3, 768)
    assert np.allclose(vectors[:, :256], source.embed(TEXTS), atol=1e-5)
    [(path, headers, body)] = provider.requests
    assert path == ("/v1/projects/my-project/locations/europe-west1/publishers/google/models/text-embedding-005:predict")
    assert headers["Authorization"] == "Bearer ya29.token"
    assert [each["content"] for each in body["instances"]] == TEXTS


def test_the_word_table_tells_what_is_alike():
    vectors = StaticEmbedder().embed([*TEXTS, "", "zzz qqq 12345"])
    assert vectors.shape == (5, 256)
    assert np.allclose(np.linalg.norm(vectors[:3], axis=1), 1, atol=1e-5)
    assert not vectors[3].any()
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.1
