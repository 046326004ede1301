"""Vectors in memory: a row a text, in blocks that never move."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from autocontext import vector_pool
from autocontext.vector_pool import VectorPool, VectorRows


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(vector_pool, "_FIRST_BLOCK", 2)
    monkeypatch.setattr(vector_pool, "_LARGEST_BLOCK", 4)


def rows_of(*numbers):
    return {b"%d" % n: np.array([n, 1], np.float32) for n in numbers}


def filled(count):
    pool = VectorPool()
    for n in range(count):
        pool.add(rows_of(n))
    return pool


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 9, 12])
def test_every_row_is_where_it_was_put(small_blocks, count):
    pool = filled(count)
    assert len(pool) == count
    assert pool.dot(np.array([1, 0.5], np.float32)).tolist() == [n + 0.5 for n in range(count)]
    assert [pool.row(n)[0] for n in range(count)] == list(range(count))
    assert pool.places([b"%d" % n for n in range(count)]).tolist() == list(range(count))


def test_half_precision_moves_a_cosine_by_less_than_a_ten_thousandth_and_equal_rows_not_apart():
    drawn = np.random.default_rng(5).standard_normal((5001, 384), dtype=np.float32)
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    drawn[4000:4500] = drawn[17]
    pool = VectorPool()
    pool.add({b"%d" % n: row for n, row in enumerate(drawn[:-1])})
    products = pool.dot(drawn[-1])
    assert products.dtype == np.float32
    assert np.abs(products - drawn[:-1] @ drawn[-1]).max() < 1e-4
    assert len(set(products[4000:4500].tolist())) == 1


def test_a_known_text_keeps_its_vector_and_its_place(small_blocks):
    pool = filled(3)
    pool.add({b"1": np.array([7, 7], np.float32), **rows_of(3)})
    assert pool.dot(np.array([1, 0], np.float32)).tolist() == [0, 1, 2, 3]


def test_rows_of_chunks_are_in_the_chunks_order_each_as_often_as_it_comes(small_blocks):
    pool = filled(6)
    rows = VectorRows(pool, [b"5", b"0", b"5"])
    assert len(rows) == 3
    assert (rows @ np.array([1, 0], np.float32)).tolist() == [5, 0, 5]
    assert rows[0].tolist() == [5, 1]


def test_rows_stay_as_they_are_while_the_pool_grows(small_blocks):
    pool = filled(3)
    rows = VectorRows(pool, [b"0", b"1", b"2"])
    pool.add(rows_of(3, 4, 5, 6))
    assert (rows @ np.array([1, 0], np.float32)).tolist() == [0, 1, 2]


def test_a_copy_grows_by_itself(small_blocks):
    pool = filled(3)
    other = pool.copy()
    other.add(rows_of(8))
    pool.add(rows_of(9))
    assert (len(pool), len(other)) == (4, 4)
    assert pool.row(3)[0] == 9
    assert other.row(3)[0] == 8


def test_only_some_are_kept(small_blocks):
    smaller = filled(5).only({b"1", b"4", b"unknown"})
    assert sorted(smaller.dot(np.array([1, 0], np.float32)).tolist()) == [1, 4]
    assert b"0" not in smaller


def test_threads_that_add_lose_nothing():
    pool = VectorPool()
    threads = [
        threading.Thread(target=lambda first=first: [pool.add(rows_of(n)) for n in range(first, first + 500)])
        for first in (0, 250, 500)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(pool) == 1000
    assert all(pool.get([b"%d" % n])[b"%d" % n][0] == n for n in range(1000))


def test_a_text_without_a_vector_scores_nothing_until_it_has_one(small_blocks):
    pool = VectorPool()
    rows = VectorRows(pool, [b"1", b"2"])
    assert (rows @ np.array([1, 0], np.float32)).tolist() == [0, 0]
    pool.add(rows_of(2))
    assert (rows @ np.array([1, 0], np.float32)).tolist() == [0, 2]
    assert rows[0] is None
    pool.add(rows_of(3, 1))
    assert (rows @ np.array([1, 0], np.float32)).tolist() == [1, 2]
    assert rows[0].tolist() == [1, 1]


def test_a_text_that_is_embedded_while_another_thread_multiplies_changes_nothing_for_it(small_blocks, monkeypatch):
    pool = filled(2)
    rows = VectorRows(pool, [b"0", b"1", b"2"])
    vector = np.array([1, 0], np.float32)
    multiply = pool.dot

    def interrupted(vector):
        products = multiply(vector)
        monkeypatch.setattr(pool, "dot", multiply)
        pool.add(rows_of(2))
        assert (rows @ vector).tolist() == [0, 1, 2], "the other thread sees it"
        return products

    monkeypatch.setattr(pool, "dot", interrupted)
    assert (rows @ vector).tolist() == [0, 1, 0], "a row for each text"
