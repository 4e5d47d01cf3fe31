from __future__ import annotations

import threading

from threadpoolctl import threadpool_info, threadpool_limits

from sandmle.eval.acceptance._one_thread import one_thread


def threads(api: str) -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == api}


def test_blas_and_openmp_have_one_thread_inside_and_what_they_had_outside() -> None:
    with threadpool_limits(2):
        assert one_thread(lambda: (threads("blas"), threads("openmp")))() == ({1}, {1})
        assert (threads("blas"), threads("openmp")) == ({2}, {2})


def test_an_error_gives_the_threads_back() -> None:
    @one_thread
    def fails() -> None:
        raise ValueError

    with threadpool_limits(2):
        try:
            fails()
        except ValueError:
            assert threads("blas") == {2}


def test_who_is_done_first_takes_nothing_from_who_is_still_inside() -> None:
    entered, done = threading.Barrier(2), threading.Event()
    seen: list[set[int]] = []

    @one_thread
    def short() -> None:
        entered.wait(10)

    @one_thread
    def long() -> None:
        entered.wait(10)
        assert done.wait(10)
        seen.append(threads("blas"))

    with threadpool_limits(2):
        one, other = threading.Thread(target=short), threading.Thread(target=long)
        one.start()
        other.start()
        one.join()
        done.set()
        other.join()
        assert seen == [{1}]
        assert threads("blas") == {2}
