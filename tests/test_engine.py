"""AutoContext as a whole, with a small encoder in place of the model."""

from __future__ import annotations

import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from autocontext import AutoContext, Settings
from autocontext.datatypes import Document
from autocontext.errors import BudgetError, LoadError, SettingsError
from autocontext.settings import ChunkOptions, EncoderOptions
from autocontext.snapshot import Entry
from tests.conftest import DATA, HashEncoder

NOTES = {
    "notes/salt.txt": "Salt melts at 801 degrees. It tastes salty. Miners dig it.",
    "notes/tea.txt": "Green tea steeps for two minutes. Black tea needs four. Water should not boil.",
    "notes/cat.md": "# Cats\n\nThe cat Miso was born in 2019. She sleeps all day.",
}


def test_nothing_is_found_in_an_empty_collection_and_the_prompt_says_so(make_context):
    ac = make_context()
    assert ac.search("anything") == []
    prompt = ac.get_prompt("anything")
    assert prompt.evidence == ()
    assert prompt.support.level == "none"
    assert "--- CONTEXT ---\n--- END CONTEXT ---" in str(prompt)


@pytest.mark.parametrize("retrievers", [("bm25",), ("dense",), ("bm25", "dense")])
@pytest.mark.parametrize("count", [1, 2])
def test_each_note_of_a_tiny_collection_is_found_by_its_own_words(make_context, retrievers, count):
    files = dict(list(NOTES.items())[:count])
    ac = make_context(files, retrievers=retrievers)
    for question, name in [
        ("At how many degrees is salt melted?", "notes/salt.txt"),
        ("Which tea steeps how long?", "notes/tea.txt"),
    ][:count]:
        best = ac.search(question)[0]
        assert best.chunk.document == name
        assert best.score > 0


def test_rank_bm25_alone_would_find_nothing_there():
    assert BM25Okapi([["salt"], ["tea"]]).get_scores(["salt"]).tolist() == [0.0, 0.0]


def test_a_replaced_document_leaves_no_stale_chunk(make_context):
    ac = make_context(NOTES)
    assert ac.add("notes/salt.txt", b"Pepper comes from Kerala.").status == "changed"
    assert [chunk.text for chunk in ac.chunks if chunk.document == "notes/salt.txt"] == ["Pepper comes from Kerala."]
    assert not [item for item in ac.search("When does salt melt?") if "801" in item.chunk.text]
    assert "801" not in str(ac.get_prompt("When does salt melt?"))


def test_a_replaced_document_keeps_its_place(make_context):
    ac = make_context(NOTES)
    ac.add("notes/salt.txt", b"Pepper comes from Kerala.")
    assert list(ac.documents) == list(NOTES)


def test_a_removed_document_is_found_no_more(make_context):
    ac = make_context(NOTES)
    assert ac.remove("notes/salt.txt").status == "removed"
    assert "notes/salt.txt" not in ac.documents
    assert [chunk.number for chunk in ac.chunks] == list(range(len(ac.chunks)))
    assert all(item.chunk.document != "notes/salt.txt" for item in ac.search("When does salt melt?"))
    with pytest.raises(KeyError):
        ac.remove("notes/salt.txt")


def test_removing_an_unknown_document_among_others_removes_nothing(make_context):
    ac = make_context(NOTES)
    with pytest.raises(KeyError):
        ac.remove_many(["notes/salt.txt", "no such"])
    assert list(ac.documents) == list(NOTES)


def test_unchanged_content_is_neither_read_nor_embedded_again(make_context, encoder):
    ac = make_context(NOTES)
    before = encoder.texts_encoded
    report = ac.add_files([(name, text.encode()) for name, text in NOTES.items()])
    assert [row.status for row in report] == ["unchanged"] * 3
    assert report.summary == "3 unchanged"
    assert encoder.texts_encoded == before


def test_one_changed_chunk_embeds_only_itself(make_context, encoder):
    sentences = [f"Sentence number {n} of this note is here." for n in range(30)]
    ac = make_context({"a.txt": " ".join(sentences)}, chunking=ChunkOptions(sentence_tokens=0))
    assert len(ac.chunks) == 10
    before = encoder.texts_encoded
    sentences[10] = "Something else stands here now."
    ac.add("a.txt", " ".join(sentences).encode())
    assert encoder.texts_encoded == before + 1


def test_a_bad_file_costs_its_own_row_only(make_context):
    ac = make_context()
    report = ac.add_files(
        [("a.txt", b"Good text."), ("b.pdf", b"no pdf"), ("c.exe", b"x"), ("d.txt", b" "), ("e.md", b"Fine.")]
    )
    assert [(row.name, row.status) for row in report] == [
        ("a.txt", "added"), ("b.pdf", "failed"), ("c.exe", "skipped"), ("d.txt", "failed"), ("e.md", "added"),
    ]  # fmt: skip
    assert "damaged" in report[1].reason
    assert report[2].reason == ".exe is a program: such files are not read."
    assert report[3].reason == "It holds no text."
    assert report.summary == "2 added, 1 skipped, 2 failed"
    assert list(ac.documents) == ["a.txt", "e.md"]


def test_a_document_that_cannot_be_read_any_more_is_kept_as_it_was(make_context):
    ac = make_context(NOTES)
    row = ac.add("notes/salt.txt", b"\x00\x01\x02\xff\x00\x00")
    assert row.status == "failed"
    assert "Salt melts" in ac.documents["notes/salt.txt"].text
    assert row.n_chunks == 1


def test_a_folder_is_read_with_all_folders_in_it_but_nothing_hidden(make_context, tmp_path):
    root = tmp_path / "notes"
    for name in ("a.txt", "sub/deep/b.md", ".hidden.txt", ".git/c.txt", "sub/d.bin"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("Some text.")
    (root / "link.txt").symlink_to(root / "a.txt")
    report = make_context().add_folder(root)
    assert [(row.name, row.status) for row in report] == [
        ("notes/a.txt", "added"), ("notes/sub/d.bin", "skipped"), ("notes/sub/deep/b.md", "added"),
    ]  # fmt: skip


def test_a_file_that_left_the_folder_leaves_the_collection(make_context, tmp_path):
    root = tmp_path / "notes"
    root.mkdir()
    (root / "a.txt").write_text("Salt melts.")
    (root / "b.txt").write_text("Tea steeps.")
    ac = make_context({"other/c.txt": "Cats sleep."})
    ac.add_folder(root)
    (root / "b.txt").unlink()
    assert ac.add_folder(root).summary == "1 unchanged, 1 removed"
    assert list(ac.documents) == ["other/c.txt", "notes/a.txt"]


def test_an_empty_folder_removes_nothing(make_context, tmp_path):
    (tmp_path / "notes").mkdir()
    ac = make_context(NOTES)
    assert ac.add_folder(tmp_path / "notes").summary == "nothing"
    assert len(ac.documents) == 3


def test_a_folder_that_is_none_is_an_error_with_its_name(make_context, tmp_path):
    with pytest.raises(LoadError, match="this is not a folder"):
        make_context().add_folder(tmp_path / "nowhere")


@pytest.mark.parametrize(
    "name", ["../../etc/x.txt", "https://example.org/a//b#c.txt", "C:\\notes\\x.txt", "日本語.txt"]
)
def test_a_name_is_a_label_kept_as_given(make_context, name):
    ac = make_context()
    assert ac.add(name, b"Text.").name == name
    assert list(ac.documents) == [name]


def test_a_name_is_one_line_without_control_characters(make_context):
    assert make_context().add("a\nb\x00c.txt", b"Text.").name == "a b c.txt"


def test_same_names_in_two_folders_are_two_documents(make_context):
    ac = make_context({"a/readme.md": "Apples are red.", "b/readme.md": "Bananas are yellow."})
    assert ac.search("bananas")[0].chunk.document == "b/readme.md"
    assert len(ac.documents) == 2


def test_a_batch_that_is_stopped_at_once_reads_nothing(make_context, encoder):
    ac = make_context()
    report = ac.add_files([(name, text.encode()) for name, text in NOTES.items()], should_stop=lambda: True)
    assert [row.status for row in report] == ["skipped"] * 3
    assert {row.reason for row in report} == {"Stopped before it was indexed."}
    assert ac.chunks == ()
    assert encoder.texts_encoded == 0


def test_a_stopped_row_says_what_is_in_the_collection_still(make_context):
    ac = make_context(NOTES)
    report = ac.add_files([("notes/salt.txt", b"New text."), ("new.txt", b"Text.")], should_stop=lambda: True)
    assert [(row.status, row.n_chunks) for row in report] == [("skipped", 1), ("skipped", 0)]
    assert "801" in ac.documents["notes/salt.txt"].text


def test_progress_counts_files_then_chunks_up_to_the_whole(make_context):
    seen = []
    make_context().add_files(
        [(name, text.encode()) for name, text in NOTES.items()], progress=lambda *step: seen.append(step)
    )
    assert seen[0] == ("Reading", 0, 3)
    assert ("Reading", 3, 3) in seen
    assert seen[-1] == ("Embedding", 3, 3)


def test_every_result_says_who_found_it_and_the_contributions_add_up(make_context):
    ac = make_context(NOTES)
    for item in ac.search("Does the cat Miso drink tea?"):
        assert item.hits
        assert all(hit.chunk == item.chunk.number for hit in item.hits.values())
        assert sum(part.share for part in item.contributions) == pytest.approx(item.score, abs=1e-9)


def test_a_retriever_that_did_not_return_a_chunk_has_no_hit_in_it(make_context):
    ac = make_context({"a.txt": "Quartz is hard.", "b.txt": "Bread is soft."})
    (quartz,) = [item for item in ac.search("quartz") if item.chunk.document == "a.txt"]
    assert quartz.hits["bm25"].rank == 1
    assert all("bm25" not in item.hits for item in ac.search("quartz") if item.chunk.document == "b.txt")


def test_one_retriever_alone_gives_its_own_ranking(make_context):
    ac = make_context(NOTES, retrievers=("bm25",))
    found = ac.search("tea water salt")
    assert [item.hits["bm25"].rank for item in found] == list(range(1, len(found) + 1))


def test_search_returns_at_most_what_was_asked_for(make_context):
    ac = make_context({f"{n}.txt": f"Common words and number {n}." for n in range(30)})
    assert len(ac.search("common words", num_results=7)) == 7
    with pytest.raises(SettingsError, match="num_results must be 1 or more"):
        ac.search("common words", num_results=0)


def test_what_is_not_in_the_prompt_is_listed_with_its_reason(make_context):
    ac = make_context({f"{n}.txt": f"The lighthouse keeper number {n} lit the lamp." for n in range(12)})
    prompt = ac.get_prompt("lighthouse keeper", num_results=3)
    assert len(prompt.evidence) == 3
    assert prompt.left_out
    assert {left.reason for left in prompt.left_out} == {"below the best 3"}
    inside = {item.chunk.number for item in prompt.evidence}
    assert inside.isdisjoint(left.evidence.chunk.number for left in prompt.left_out)


def test_a_budget_that_the_question_alone_breaks_is_an_error_with_the_cure(make_context):
    with pytest.raises(BudgetError, match="raise the token budget to"):
        make_context(NOTES).get_prompt("What is tea?", max_tokens=20)


def test_a_question_of_blanks_finds_nothing(make_context):
    assert make_context(NOTES).search("  \n ") == []


def test_offsets_point_at_the_text_of_the_file(make_context):
    text = "First sentence here.\n\nSecond one, ünïcödé 猫。Third!\tFourth?\n"
    ac = make_context({"a.txt": text})
    assert ac.documents["a.txt"].text == text
    for chunk in ac.chunks:
        assert text[chunk.start : chunk.end] == chunk.text


def test_a_snapshot_gets_its_own_numbers_while_another_numbers_the_same_chunks(make_context):
    class Shared(Entry):
        def __setattr__(self, name, value):
            super().__setattr__(name, value)
            if name == "chunks" and value and value[0].number == 5:
                self.numbered(9)  # another thread comes between

    ac = make_context({"a.txt": "Salt melts. " * 9})
    (entry,) = ac._snapshot.entries.values()
    shared = Shared(entry.document, entry.chunks)
    assert [chunk.number for chunk in shared.numbered(5)] == [5 + n for n in range(len(entry.chunks))]


def test_without_an_embedding_model_keyword_search_goes_on_and_says_so(tmp_path):
    (tmp_path / "empty").mkdir()
    ac = AutoContext(settings=Settings(encoder=EncoderOptions(folder=tmp_path / "empty")))
    ac.add("a.txt", b"Salt melts at 801 degrees.")
    assert ac.search("salt")[0].hits.keys() == {"bm25"}
    (warning,) = ac.warnings
    assert "holds no embedding model" in warning
    assert "found by their words only" in warning
    assert ac.get_prompt("When does salt melt?").support.level != "none"


def test_an_empty_collection_without_a_model_still_makes_a_prompt(tmp_path):
    ac = AutoContext(settings=Settings(encoder=EncoderOptions(folder=tmp_path)))
    assert ac.get_prompt("anything").support.level == "none"


def test_bm25_of_weight_0_stands_in_for_a_missing_model(tmp_path):
    ac = AutoContext(settings=Settings(weights={"bm25": 0.0}, encoder=EncoderOptions(folder=tmp_path)))
    ac.add("a.txt", b"Salt melts at 801 degrees.")
    assert ac.search("salt")[0].hits.keys() == {"bm25"}


def test_dense_alone_without_a_model_falls_back_to_keywords(tmp_path):
    ac = AutoContext(settings=Settings(retrievers=("dense",), encoder=EncoderOptions(folder=tmp_path)))
    ac.add("a.txt", b"Salt melts at 801 degrees.")
    assert ac.search("salt")[0].hits.keys() == {"bm25"}
    assert ac.warnings


def test_an_unknown_template_is_refused_with_the_choices():
    with pytest.raises(SettingsError, match="choose from default, seed"):
        AutoContext(settings=Settings(template="nope"))


def test_an_unknown_retriever_is_refused_with_the_choices():
    with pytest.raises(SettingsError, match="choose from bm25, dense"):
        AutoContext(settings=Settings(retrievers=("bm52",)))


def test_weights_change_the_order_and_0_removes_a_retriever(make_context):
    files = {"word.txt": "Zebra zebra zebra.", "both.txt": "A zebra and a horse stood in the long grass of the plain."}
    only_bm25 = make_context(files, weights={"dense": 0.0}).search("zebra horse grass")
    assert all(item.hits.keys() == {"bm25"} for item in only_bm25)
    with_dense = make_context(files, weights={"dense": 3.0}).search("zebra")  # BM25 finds all of it: full trust
    assert with_dense[0].chunk.document == "word.txt"
    shares = {part.retriever: part.weight for part in with_dense[0].contributions}
    assert shares == pytest.approx({"bm25": 0.25, "dense": 0.75}, abs=0.02)


def test_a_retriever_of_weight_0_has_no_say_in_the_verdict(make_context):
    question = "At how many degrees does salt melt?"
    removed = make_context(NOTES, weights={"dense": 0.0}).get_prompt(question).support
    absent = make_context(NOTES, retrievers=("bm25",)).get_prompt(question).support
    assert removed == absent
    assert make_context(NOTES, weights={"dense": 0.0}).retrievers == ("bm25",)


def test_a_question_that_is_no_valid_text_is_still_searched(make_context):
    ac = make_context(NOTES)
    assert ac.search("When does salt\udce9 melt?")[0].chunk.document == "notes/salt.txt"
    str(ac.get_prompt("When does salt\udce9 melt?")).encode("utf-8")


def test_vectors_of_removed_documents_are_let_go(make_context):
    ac = make_context(NOTES)
    ac.remove_many(list(NOTES))
    assert len(ac._embedder.pool) == 0
    ac.add("notes/salt.txt", NOTES["notes/salt.txt"].encode())
    assert ac.search("salt")[0].hits.keys() == {"bm25", "dense"}


def test_a_name_may_be_given_twice_or_as_it_was_added(make_context):
    ac = make_context()
    ac.add("a\nb.txt", b"Text.")
    assert [row.name for row in ac.remove_many(["a\nb.txt", "a b.txt"])] == ["a b.txt"]


def test_warming_up_builds_what_the_first_question_needs(make_context, encoder):
    ac = make_context(NOTES)
    ac.warm_up()
    before = encoder.texts_encoded
    ac.search("salt")
    assert encoder.texts_encoded == before + 1  # the question


def test_a_search_goes_on_while_files_are_added(make_context):
    ac = make_context(NOTES)
    ac.search("salt")
    inside, go_on = threading.Event(), threading.Event()

    def wait(_label: str, _done: int, _total: int) -> None:
        inside.set()
        go_on.wait(20)

    worker = threading.Thread(target=lambda: ac.add_files([("new.txt", b"New text.")], progress=wait))
    worker.start()
    try:
        assert inside.wait(20)
        assert ac.search("When does salt melt?")[0].chunk.document == "notes/salt.txt"
        assert "new.txt" not in ac.documents
    finally:
        go_on.set()
        worker.join(20)
    assert "new.txt" in ac.documents


def test_marked_words_are_the_questions_content_words_in_any_form(make_context):
    text = "Is the cat's bowl full? Miso, a CAT, drinks. Many cats sing, catalogues do not."
    ac = make_context({"a.txt": text, "b.txt": "Die Häuser stehen im Wald, und die Katzen schlafen in den Häusern."})
    spans = ac.matched_spans("Where is the singing cat of Miso?", text)
    assert [text[a:b] for a, b in spans] == ["cat's", "Miso", "CAT", "cats", "sing"]
    assert ac.matched_spans("Haus", "Häuser und Hausboote") == [(0, 6)]
    assert ac.matched_spans("量子计算", "关于量子计算的论文") == [(2, 6)]
    assert make_context().matched_spans("the cat of Miso", text)[:2] == [(7, 12), (24, 28)]


def test_chunks_hold_three_sentences_unless_set_otherwise(make_context):
    text = " ".join(f"Sentence {n} ends here." for n in range(7))

    def ends(**options):
        chunks = make_context({"a.txt": text}, chunking=ChunkOptions(**options)).chunks
        return [chunk.text.count("ends") for chunk in chunks]

    assert ends(sentence_tokens=0) == [3, 3, 1]
    assert ends(sentences=1, sentence_tokens=0) == [1] * 7
    assert ends() == [7], "seven short sentences are less than three of 32 tokens"


names = st.sampled_from(["a.txt", "b.txt", "c.md"])
texts = st.sampled_from(
    ["Salt melts.", "Tea steeps. Water boils.", "# Cats\n\nMiso sleeps.", " ", "Salt melts. Tea steeps. A. B. C. D."]
)
steps = st.lists(st.tuples(st.sampled_from(["add", "remove"]), names, texts), max_size=12)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=steps)
def test_after_any_changes_the_collection_equals_a_fresh_one(steps):
    ac = AutoContext(encoder=HashEncoder())
    present: dict[str, str] = {}
    for action, name, text in steps:
        if action == "add":
            if ac.add(name, text.encode()).status in ("added", "changed"):
                present[name] = text
        elif name in present:
            ac.remove(name)
            del present[name]
        ac.search("Does salt melt in tea?")
    fresh = AutoContext(encoder=HashEncoder())
    fresh.add_files([(name, text.encode()) for name, text in present.items()])

    def found(context: AutoContext) -> list[tuple[str, str, float]]:
        rows = [(e.chunk.document, e.chunk.text, round(e.score, 6)) for e in context.search("Does salt melt in tea?")]
        return sorted(rows)

    assert {n: d.text for n, d in ac.documents.items()} == {n: d.text for n, d in fresh.documents.items()}
    assert found(ac) == found(fresh)


def test_the_public_documents_cannot_be_changed_from_outside(make_context):
    ac = make_context(NOTES)
    with pytest.raises(TypeError):
        ac.documents["x"] = Document("x", "text", "")  # type: ignore[index]


def test_the_sample_folder_gives_a_row_for_every_file():
    report = AutoContext(settings=Settings(retrievers=("bm25",))).add_folder(DATA)
    assert report.summary == "11 added, 1 skipped"
    assert [row.name for row in report if row.status == "skipped"] == ["data/questions.jsonl"]


# --- encodings ---

GREEK = "Το αλάτι λιώνει στους 801 βαθμούς."


def test_a_text_can_be_read_anew_in_another_encoding(make_context):
    ac = make_context(retrievers=("bm25",))
    assert ac.add("a.txt", GREEK.encode("cp1253")).reason == "Read as cp1253 (a guess)."
    row = ac.reread("a.txt", "cp1251")
    assert (row.status, row.reason) == ("changed", "Read as cp1251, as you said.")
    assert ac.documents["a.txt"].text == GREEK.encode("cp1253").decode("cp1251")
    assert ac.reread("a.txt", "windows-1253").status == "changed"
    assert (ac.documents["a.txt"].text, ac.chunks[0].text) == (GREEK, GREEK)


def test_the_encoding_that_was_chosen_is_kept_for_the_next_version_and_in_the_store(make_context, tmp_path):
    ac = make_context(retrievers=("bm25",), store=tmp_path / "a.db")
    ac.add("a.txt", b"caf\xe9", encoding="cp1250")
    ac.close()
    ac = make_context(retrievers=("bm25",), store=tmp_path / "a.db")
    assert ac.add("a.txt", b"caf\xe9").status == "unchanged"
    ac.add("a.txt", b"caf\xf9")
    assert ac.documents["a.txt"].text == "cafů"


@pytest.mark.parametrize("name", ["a.txt", "notes/a.csv"])
def test_an_encoding_that_is_unknown_or_certain_is_not_changed(make_context, name):
    ac = make_context({name: "Salt melts."}, retrievers=("bm25",))
    assert ac.add(name, b"caf\xe9", encoding="klingon").reason == (
        "There is no encoding 'klingon'; utf-8, cp1252 and gb18030 are some."
    )
    with pytest.raises(LoadError, match="its encoding is certain"):
        ac.reread(name, "cp1252")
    assert ac.documents[name].text == "Salt melts."


def test_a_variant_has_the_same_documents_under_other_settings_and_leaves_the_collection_alone(make_context, encoder):
    ac = make_context({"a.txt": "Salt melts. Tea steeps. Boats sail."})
    before, embedded = ac.chunks, encoder.texts_encoded
    keywords = ac.variant(Settings(retrievers=("bm25",)))
    weights = ac.variant(Settings(weights={"dense": 2.0}))
    single = ac.variant(Settings(chunking=ChunkOptions(sentences=1, sentence_tokens=0)))

    assert [set(item.hits) for item in keywords.search("salt")] == [{"bm25"}]
    assert weights.search("salt")[0].contributions[1].weight == pytest.approx(2 / 3)
    assert encoder.texts_encoded == embedded + 1  # the question only
    assert [chunk.text for chunk in single.chunks] == ["Salt melts.", "Tea steeps.", "Boats sail."]
    assert single.search("tea")[0].chunk.text == "Tea steeps."
    assert ac.chunks is before
