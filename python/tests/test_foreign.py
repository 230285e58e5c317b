"""Arrays on a GPU, shared with other packages: by DLPack and by the CUDA array interface. On the host, by DLPack."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
from typing import Any, Optional

import numpy as np
import pytest
import scipy.sparse
from conftest import random_matrix

import vxm

GPU = "cuda:0"
KINDS = ["bool", "u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f32", "f64"]


@pytest.fixture
def gpu() -> str:
    """A GPU; the test is skipped without one, and fails if one was asked for."""
    if GPU not in vxm.devices():
        assert os.environ.get("VXM_TEST_DEVICE") != "cuda", "no GPU"
        pytest.skip("no GPU")
    return GPU


def numbers(kind: str, n: int = 1000) -> np.ndarray:
    draw = np.random.default_rng(7).integers(-100, 100, n)
    return (draw > 0) if kind == "bool" else draw.astype(vxm.Vector.full(1, 0, kind).dtype)


class ByInterface:
    """An array of a package with the CUDA array interface only."""

    def __init__(self, vector: vxm.Vector, **changed: Any) -> None:
        self.keeps = vector
        self.__cuda_array_interface__ = {**vector.__cuda_array_interface__, **changed}


class Older:
    """An array of a package with DLPack of before version 1.0."""

    def __init__(self, vector: vxm.Vector) -> None:
        self.vector = vector

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.vector.__dlpack_device__()

    def __dlpack__(self, stream: Optional[int] = None) -> Any:
        assert stream == 1, "the default stream"
        return self.vector.__dlpack__(stream=stream)


class Given:
    """What gives these for DLPack."""

    def __init__(self, place: Any, capsule: Any) -> None:
        self.place, self.capsule = place, capsule

    def __dlpack_device__(self) -> Any:
        return self.place

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule


def by_capsule(vector: vxm.Vector) -> Any:
    """The capsule itself."""
    return vector.__dlpack__(max_version=(1, 0))


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_on_the_host(kind: str) -> None:
    values = numbers(kind)
    vector = vxm.Vector.from_dlpack(values)
    assert (vector.kind, vector.device, vector.__dlpack_device__()) == (kind, "cpu", (1, 0))
    assert np.array_equal(vector.to_numpy(), values)
    taken = np.from_dlpack(vector)
    assert np.array_equal(taken, values) and taken.dtype == values.dtype
    assert not hasattr(vector, "__cuda_array_interface__")
    assert not hasattr(vector.map(vxm.IDENTITY), "__dlpack__")
    with pytest.raises(BufferError, match="copied for the host"):
        vector.__dlpack__(copy=False)
    with pytest.raises(BufferError, match=r"expected device \(1, 0\) or the host, found \(2, 0\)"):
        vector.__dlpack__(dl_device=(2, 0))


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_on_a_gpu(gpu: str, kind: str) -> None:
    values = numbers(kind)
    vector = vxm.Vector.from_numpy(values).to(gpu)
    assert vector.__dlpack_device__() == (2, 0)
    for array in (vector, ByInterface(vector), Older(vector)):
        taken = vxm.Vector.from_dlpack(array)
        assert (taken.kind, taken.device, taken) == (kind, gpu, vector), type(array)
    # numpy takes the copy on the host
    assert np.array_equal(np.from_dlpack(vector, device="cpu"), values)
    told = vector.__cuda_array_interface__
    assert told["typestr"] == values.dtype.str and told["shape"] == (1000,) and told["data"][1] and told["version"] == 3
    # every third, and backwards
    step = (told["strides"] or (values.itemsize,))[0]
    third = ByInterface(vector, shape=(334,), strides=(3 * step,))
    assert np.array_equal(vxm.Vector.from_dlpack(third).to_numpy(), values[::3])
    last = told["data"][0] + 999 * step
    back = ByInterface(vector, data=(last, True), strides=(-step,))
    assert np.array_equal(vxm.Vector.from_dlpack(back).to_numpy(), values[::-1])


def test_a_vector_outlives_what_it_was_taken_from(gpu: str) -> None:
    values = numbers("f32", 100_000)
    given = vxm.Vector.from_numpy(values).to(gpu)
    taken, capsule = vxm.Vector.from_dlpack(given), by_capsule(given)
    del given
    gc.collect()
    others = [vxm.Vector.full(100_000, 0, "f32").to(gpu) for _ in range(5)]
    assert np.array_equal(taken.to_numpy(), values) and len(others) == 5
    # a capsule that isn't taken
    del capsule
    gc.collect()


def test_copies_may_be_written_and_others_not(gpu: str) -> None:
    vector = vxm.Vector.from_numpy(numbers("u8")).to(gpu)
    with pytest.raises(BufferError, match="expected a consumer of DLPack 1.0"):
        vector.__dlpack__(copy=False)
    for asked in ({}, {"max_version": (1, 0)}, {"max_version": (1, 3), "copy": True}, {"stream": -1}, {"stream": 2}):
        name = "dltensor_versioned" if "max_version" in asked else "dltensor"
        assert f'"{name}"' in repr(vector.__dlpack__(**asked))
    with pytest.raises(ValueError, match="stream 0 is ambiguous"):
        vector.__dlpack__(stream=0)
    with pytest.raises(BufferError, match="on which the vector lies"):
        vector.__dlpack__(max_version=(1, 0), dl_device=(2, 5))


def test_what_cannot_be_lent(gpu: str) -> None:
    some = vxm.Vector.from_pairs(5, [1], [7]).to(gpu)
    with pytest.raises(BufferError, match="4 of 5 places hold no element"):
        some.__dlpack__(max_version=(1, 0))
    with pytest.raises(AttributeError, match="4 of 5 places hold no element"):
        some.__cuda_array_interface__
    assert not hasattr(some, "__cuda_array_interface__")
    members = vxm.Vector.members(5, [1]).to(gpu)
    with pytest.raises(AttributeError, match="the elements of a set have no value"):
        members.__cuda_array_interface__
    with pytest.raises(BufferError, match="DLPack has no name for elements of kind"):
        members.__dlpack__(max_version=(1, 0))
    pair = np.zeros(4, [("cost", np.float32), ("at", np.uint16)])
    structs = vxm.Vector.from_numpy(pair).to(gpu)
    assert np.dtype(structs.__cuda_array_interface__["descr"]).names[:2] == ("cost", "at")
    with pytest.raises(BufferError, match="DLPack has no name for elements of kind"):
        structs.__dlpack__(max_version=(1, 0))
    empty = vxm.Vector.from_numpy(np.zeros(0, np.float32)).to(gpu)
    assert len(vxm.Vector.from_dlpack(empty)) == len(vxm.Vector.from_dlpack(ByInterface(empty))) == 0


def test_arrays_that_are_refused(gpu: str) -> None:
    vector = vxm.Vector.from_numpy(numbers("f32")).to(gpu)
    wrong: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"shape": (10, 100), "strides": None}, vxm.ShapeError, "array: expected an array with one axis, found 2 axes"),
        ({"typestr": "<c8"}, TypeError, "array: expected bool, u8"),
        ({"typestr": ">f4"}, TypeError, "array: expected numbers in this machine's byte order"),
        ({"mask": vector}, vxm.InputError, "array: expected an array without a mask"),
        ({"strides": (2,)}, vxm.InputError, "expected multiples of 4"),
        ({"data": (1 << 20, True)}, vxm.DeviceError, "array: an array at address 0x100000: expected one on a GPU, found none there"),
        ({"data": (0, True)}, vxm.DeviceError, "found none there"),
        ({"strides": (2**62,)}, vxm.InputError, "expected addresses in memory of 1000 numbers"),
        ({"strides": (2**63,)}, vxm.InputError, "array: expected an array by DLPack or the CUDA array interface, found OverflowError"),
        ({"strides": (4, 4)}, vxm.InputError, "found ValueError: too many values"),
        ({"shape": (-1,)}, vxm.InputError, "found OverflowError"),
        ({"typestr": None}, vxm.InputError, "array: expected a __cuda_array_interface__ with a typestr and a shape"),
        ({"shape": None}, vxm.InputError, "with a typestr and a shape"),
    ]
    for changed, error, match in wrong:
        with pytest.raises(error, match=match):
            vxm.Vector.from_dlpack(ByInterface(vector, **changed))

    used = Given((2, 0), by_capsule(vector))
    assert vxm.Vector.from_dlpack(used) == vector
    with pytest.raises(vxm.InputError, match="array: expected an array by DLPack .* already been consumed"):
        vxm.Vector.from_dlpack(used)
    for place in (None, (), "a", (None, 0)):
        with pytest.raises(vxm.InputError, match="expected __dlpack_device__ to give two numbers"):
            vxm.Vector.from_dlpack(Given(place, None))
    with pytest.raises(vxm.InputError, match="array: expected __dlpack__ to give a capsule, found Vector"):
        vxm.Vector.from_dlpack(Given((2, 0), vector))
    with pytest.raises(vxm.DeviceError, match="expected one on the host or a CUDA GPU, found one on DLPack's device 10"):
        vxm.Vector.from_dlpack(Given((10, 0), None))
    with pytest.raises(TypeError, match="array: expected one by DLPack or the CUDA array interface, found list"):
        vxm.Vector.from_dlpack([1, 2])
    with pytest.raises(TypeError, match="rows: expected an array on the host, found ByInterface: Vector.from_dlpack"):
        vxm.Graph.from_coo(3, ByInterface(vector), [1])


class Capsules:
    """Makes DLPack's capsules by hand, with a deleter that runs Python code."""

    class Tensor(ctypes.Structure):
        """`DLManagedTensor`."""

        _fields_ = [
            ("data", ctypes.c_void_p), ("place", ctypes.c_int32), ("number", ctypes.c_int32), ("axes", ctypes.c_int32),
            ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p),
            ("strides", ctypes.c_void_p), ("offset", ctypes.c_uint64), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
        ]  # fmt: skip

    def __init__(self) -> None:
        self.deleted = 0
        self.kept: list[Any] = []

    def make(self, address: int, number: int = 0, length: int = 4) -> Any:
        """A capsule of an array of float32."""

        def delete(_: Any) -> None:
            self.deleted += 1

        deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(delete)
        shape = (ctypes.c_int64 * 1)(length)
        pointers = ctypes.addressof(shape), None, 0, None, ctypes.cast(deleter, ctypes.c_void_p)
        tensor = self.Tensor(address, 2, number, 1, 2, 32, 1, *pointers)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        name = ctypes.create_string_buffer(b"dltensor")
        self.kept += [deleter, shape, tensor, name]
        return Given((2, number), new(ctypes.addressof(tensor), name, None))


def test_deleters_run_once_also_while_an_exception_is_raised(gpu: str) -> None:
    vector = vxm.Vector.from_numpy(np.arange(4, dtype=np.float32)).to(gpu)
    address, made = vector.__cuda_array_interface__["data"][0], Capsules()
    assert vxm.Vector.from_dlpack(made.make(address)) == vector and made.deleted == 1
    wrong: list[tuple[dict[str, int], type[Exception], str]] = [
        ({"address": address, "number": 99}, vxm.DeviceError, "no CUDA device 99"),
        ({"address": address + 1}, vxm.InputError, "expected multiples of 4"),
        ({"address": 0}, vxm.InputError, "expected addresses in memory of 4 numbers"),
    ]
    for k, (given, error, match) in enumerate(wrong):
        with pytest.raises(error, match=match):
            vxm.Vector.from_dlpack(made.make(**given))
        assert made.deleted == 2 + k
    with pytest.raises(vxm.InputError, match="indptr: expected integers, found float32"):
        vxm.Matrix.from_csr(made.make(address), vector, 5, shape=(3, 3))
    assert made.deleted == 5


def arrays(matrix: scipy.sparse.csr_array, gpu: str, index: type, data: bool = True) -> list[Optional[vxm.Vector]]:
    """The arrays of CSR on a GPU."""
    parts = [matrix.indptr.astype(index), matrix.indices.astype(index), matrix.data if data else None]
    return [None if part is None else vxm.Vector.from_numpy(part).to(gpu) for part in parts]


@pytest.mark.parametrize("index", [np.int16, np.uint16, np.int32, np.int64])
def test_matrices_on_a_gpu(gpu: str, index: type) -> None:
    held = random_matrix(300, 2000, 3)
    matrix = vxm.Matrix.from_csr(*arrays(held, gpu, index), shape=held.shape)
    assert (matrix.device, matrix) == (gpu, vxm.Matrix.from_scipy(held))
    pattern = vxm.Matrix.from_csr(*arrays(held, gpu, index, data=False), shape=held.shape)
    assert (pattern.kind, pattern) == ("()", vxm.Matrix.from_scipy(held).pattern())
    starts, columns, values = matrix.to_vectors()
    assert {part.device for part in (starts, columns, values)} == {gpu}
    assert np.array_equal(values.to_numpy(), held.data) and np.array_equal(starts.to_numpy(), held.indptr)
    again = vxm.Matrix.from_csr(ByInterface(starts), ByInterface(columns), ByInterface(values), shape=held.shape)
    assert again == matrix
    assert [part.device for part in vxm.Matrix.from_scipy(held).to_vectors()] == ["cpu"] * 3
    ring = vxm.semiring(vxm.PLUS, vxm.TIMES)
    assert matrix.mxm(matrix, ring, device=gpu) == vxm.Matrix.from_scipy(held).mxm(vxm.Matrix.from_scipy(held), ring)
    with pytest.raises(vxm.InputError, match="of 200 columns"):
        vxm.Matrix.from_csr(*arrays(held, gpu, index), shape=(300, 200))
    with pytest.raises(vxm.InputError, match="indices: expected an array on a GPU, as others are, found ndarray"):
        vxm.Matrix.from_csr(starts, held.indices, values, shape=held.shape)
    with pytest.raises(TypeError, match="convert the values there"):
        vxm.Matrix.from_csr(starts, columns, values, shape=held.shape, dtype="f32")


@pytest.mark.parametrize("dtype", [None, np.uint32, np.uint64, np.float32, np.float64])
def test_graphs_on_a_gpu(gpu: str, dtype: Optional[type]) -> None:
    lone = random_matrix(400, 1500, 5, dtype or np.uint32)
    both = (lone + lone.T).tocsr()
    both.sort_indices()
    weighted = dtype is not None
    given = arrays(both, gpu, np.int32, weighted)
    there = vxm.Graph.from_csr(*given)
    here = vxm.Graph.from_csr(both.indptr, both.indices, both.data if weighted else None)
    assert (there.vertices, there.edges, there.dtype) == (here.vertices, here.edges, here.dtype)
    assert (there.device, here.device) == (gpu, "cpu")
    for on in (gpu, "cpu"):
        assert np.array_equal(there.mis(device=on).members, here.mis().members)
        assert np.array_equal(there.components(device=on), here.components())
    if weighted:
        assert np.array_equal(there.sssp(0, device=gpu), here.sssp(0))
    assert (there.to_scipy() != here.to_scipy()).nnz == 0
    some = arrays(lone, gpu, np.int64, weighted)
    union = vxm.Graph.from_csr(*some, symmetrize="union")
    expected = vxm.Graph.from_csr(lone.indptr, lone.indices, lone.data if weighted else None, symmetrize="union")
    assert (union.to_scipy() != expected.to_scipy()).nnz == 0
    directed = vxm.Graph.from_csr(*some, directed=True)
    assert directed.directed and directed.edges == lone.nnz
    assert np.array_equal(directed.strong_components(device=gpu), directed.strong_components())
    with pytest.raises(vxm.InputError, match="expected an undirected graph"):
        vxm.Graph.from_csr(*some)
    stays = vxm.Matrix.from_csr(*given, shape=both.shape).to_graph()
    assert (stays.to_scipy() != here.to_scipy()).nnz == 0


def test_wrong_graphs_on_a_gpu(gpu: str) -> None:
    starts, columns = (vxm.Vector.from_numpy(np.array(part, np.int32)).to(gpu) for part in ([0, 1, 2], [1, 0]))
    integers = vxm.Vector.from_numpy(np.array([5, 5], np.int64)).to(gpu)
    assert vxm.Graph.from_csr(starts, columns, integers).dtype == np.uint64
    assert vxm.Graph.from_csr(starts, columns, vxm.Vector.from_numpy(np.array([1, 1], np.uint8)).to(gpu)).sssp(0).tolist() == [0, 1]
    for kind in (np.int8, np.int16, np.int32, np.int64):
        right = vxm.Vector.from_numpy(np.array([9, 9], kind)).to(gpu)
        assert vxm.Graph.from_csr(starts, columns, right).sssp(0).tolist() == [0, 9]
        assert vxm.Matrix.from_csr(starts, columns, right, shape=(2, 2)).to_graph().device == gpu
        below = vxm.Vector.from_numpy(np.array([-3, -3], kind)).to(gpu)
        for make in (vxm.Graph.from_csr, lambda *given: vxm.Matrix.from_csr(*given, shape=(2, 2)).to_graph()):
            with pytest.raises(vxm.InputError, match="data: expected integers from 0, found -3: convert them to float64"):
                make(starts, columns, below)
    with pytest.raises(vxm.InputError, match="found a 2 x 5 matrix"):
        vxm.Graph.from_csr(starts, columns, shape=(2, 5))
    none = [vxm.Vector.from_numpy(np.array(part, np.int64)).to(gpu) for part in ([0], [], [])]
    assert vxm.Graph.from_csr(*none).dtype == vxm.Graph.from_csr([0], [], []).dtype == np.float64
    with pytest.raises(vxm.ShapeError, match="indptr: expected 1 offsets, found none"):
        vxm.Graph.from_csr(none[1], none[2])
    with pytest.raises(vxm.InputError, match="indices: expected integers, found float32"):
        vxm.Graph.from_csr(starts, vxm.Vector.full(2, 1, "f32").to(gpu))
    with pytest.raises(vxm.InputError, match="2 columns but 3 values"):
        vxm.Graph.from_csr(starts, columns, vxm.Vector.full(3, 1, "u32").to(gpu))
    unequal = vxm.Vector.from_numpy(np.array([5, 6], np.uint32)).to(gpu)
    with pytest.raises(vxm.InputError, match="without an equal entry"):
        vxm.Graph.from_csr(starts, columns, unequal)
    # a self-loop is dropped
    loop = vxm.Graph.from_csr(*(vxm.Vector.from_numpy(np.array(part, np.int32)).to(gpu) for part in ([0, 2, 3], [0, 1, 0])))
    assert loop.edges == 1


def test_cupy(gpu: str) -> None:
    cupy = pytest.importorskip("cupy")
    from cupyx.scipy.sparse import csr_matrix

    for kind in KINDS:
        values = numbers(kind)
        theirs = cupy.asarray(values)
        vector = vxm.Vector.from_dlpack(theirs)
        assert (vector.device, vector) == (gpu, vxm.Vector.from_numpy(values))
        assert np.array_equal(vxm.Vector.from_dlpack(theirs[::-2]).to_numpy(), values[::-2])
        shared = cupy.asarray(vector)
        assert shared.data.ptr == vector.__cuda_array_interface__["data"][0]
        assert np.array_equal(shared.get(), values)
        assert np.array_equal(cupy.from_dlpack(vector).get(), values)
    # work in flight when a vector is dropped, whose memory is used again at once
    for _ in range(20):
        vector = vxm.Vector.full(1 << 22, 1, "u32").to(gpu)
        shared = cupy.asarray(vector)
        total = sum(shared for _ in range(8))
        del vector, shared
        vxm.Vector.full(1 << 22, 7, "u32").to(gpu)
        assert int(total.max()) == int(total.min()) == 8
    # work in flight when an array is taken
    for _ in range(20):
        array = cupy.zeros(1 << 22, cupy.uint32)
        for _ in range(10):
            array += 1
        assert vxm.Vector.from_dlpack(array).reduce(vxm.MIN, device=gpu) == 10
        other = cupy.cuda.Stream(non_blocking=True)
        with other:
            array += 1
            assert vxm.Vector.from_dlpack(array).reduce(vxm.MIN, device=gpu) == 11
    held = random_matrix(3000, 20000, 3)
    matrix = vxm.Matrix.from_scipy(csr_matrix(held))
    assert (matrix.device, matrix) == (gpu, vxm.Matrix.from_scipy(held))
    both = (held + held.T).tocsr()
    graph = vxm.Graph.from_scipy(csr_matrix(both), weights=True)
    assert np.array_equal(graph.sssp(0, device=gpu), vxm.Graph.from_scipy(both, weights=True).sssp(0))
    starts, columns, values = matrix.to_vectors()
    back = csr_matrix((cupy.asarray(values), cupy.asarray(columns).view(cupy.int32), cupy.asarray(starts).astype(cupy.int32)), shape=held.shape)
    assert abs(back.get() - held).max() == 0


def test_cupy_on_two_gpus(gpu: str) -> None:
    cupy = pytest.importorskip("cupy")
    from cupyx.scipy.sparse import csr_matrix

    if "cuda:1" not in vxm.devices():
        pytest.skip("one GPU")
    current = cupy.cuda.runtime.getDevice
    held = random_matrix(500, 4000, 3)
    both = (held + held.T).tocsr()
    expected = vxm.Graph.from_scipy(both, weights=True).sssp(0)
    for at in (1, 0):
        with cupy.cuda.Device(at):
            theirs = cupy.arange(1000, dtype=cupy.float32)
            vector = vxm.Vector.from_dlpack(theirs)
            assert vector.device == f"cuda:{at}" and (cupy.asarray(vector) == theirs).all()
            assert vxm.Vector.from_dlpack(ByInterface(vector)).device == f"cuda:{at}"
            graph = vxm.Graph.from_scipy(csr_matrix(both), weights=True)
            assert graph.device == f"cuda:{at}"
            assert all(np.array_equal(graph.sssp(0, device=on), expected) for on in ("cuda:0", "cuda:1", "cpu"))
        # what is lent on one GPU is dropped while the other is current
        with cupy.cuda.Device(1 - at):
            del vector, graph
            gc.collect()
            assert current() == 1 - at
    with cupy.cuda.Device(1):
        columns = cupy.array([1, 0], cupy.int32)
    with pytest.raises(vxm.InputError, match="arrays on cuda:0 and on cuda:1: expected one device"):
        vxm.Graph.from_csr(vxm.Vector.from_numpy(np.array([0, 1, 2])).to("cuda:0"), columns)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_reads_no_gpu(gpu: str) -> None:
    program = """
import os, pickle, numpy as np, vxm
vector = vxm.Vector.from_numpy(np.array([1, 2], np.uint32)).to("cuda")
offsets = vxm.Vector.from_numpy(np.array([0, 1, 2])).to("cuda")
matrix = vxm.Matrix.from_csr(offsets, vxm.Vector.from_numpy(np.array([1, 0])).to("cuda"), vector, shape=(2, 2))
graph = vxm.Graph.from_csr(offsets, vxm.Vector.from_numpy(np.array([1, 0])).to("cuda"))
child = os.fork()
if child:
    raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
reads = [
    vector.to_numpy, lambda: vector[0], lambda: vector.nvals, lambda: vector.digest, lambda: vector.__cuda_array_interface__,
    lambda: vector.__dlpack__(max_version=(1, 0)), lambda: pickle.dumps(vector), matrix.to_csr, matrix.to_vectors, matrix.to_graph,
    lambda: matrix[0, 1], lambda: matrix == matrix, lambda: pickle.dumps(matrix), lambda: graph.bfs(0), graph.to_scipy, lambda: pickle.dumps(graph),
]
for k, read in enumerate(reads):
    try:
        read()
        print("read", k)
    except vxm.DeviceError as error:
        assert "in a forked process" in str(error), error
print("done", flush=True)
os._exit(0)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)
    assert (done.stdout, done.returncode) == ("done\n", 0), done.stderr
