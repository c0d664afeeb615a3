"""Shards of rollouts: in memory, as .npz or as Parquet files. A file is there whole or not at all."""

import os
import pathlib
import zipfile

import numpy as np

from ._core import Error


def write_shard(path, arrays):
    partial = path.with_name(path.name + ".part")
    if path.suffix == ".parquet":
        _write_parquet(partial, arrays)
    else:
        with open(partial, "wb") as file:
            np.savez(file, **arrays)
    os.replace(partial, path)
    return path


def read_shard(path):
    """{name: array}, or None for a file that is damaged."""
    try:
        if pathlib.Path(path).suffix == ".parquet":
            return _read_parquet(path)
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile):
        return None


def _parquet():
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ImportError("format: 'parquet' needs the package pyarrow") from None
    return pyarrow


def _write_parquet(path, arrays):
    """A row per world; arrays of more dimensions are lists, their shapes and types in the metadata."""
    pa = _parquet()
    columns = {name: [row.ravel() for row in array] if array.ndim > 1 else array for name, array in arrays.items()}
    shapes = {f"shape_{name}": ",".join(map(str, array.shape[1:])) for name, array in arrays.items()}
    table = pa.table(columns).replace_schema_metadata(shapes)
    pa.parquet.write_table(table, path)


def _read_parquet(path):
    pa = _parquet()
    try:
        table = pa.parquet.read_table(path)
    except pa.ArrowInvalid as error:
        raise Error(str(error)) from None
    result = {}
    for name in table.column_names:
        shape = table.schema.metadata[f"shape_{name}".encode()].decode()
        column = table.column(name).combine_chunks()
        if shape:
            inner = column.flatten().to_numpy(zero_copy_only=False)
            result[name] = inner.reshape(len(column), *map(int, shape.split(",")))
        else:
            result[name] = column.to_numpy(zero_copy_only=False)
    return result


class Rollouts:
    """What almond.rollout found, in the order of worlds.

    rollouts["q"] is (worlds, records, ...) of all shards; `names` are the arrays there are; iterating gives one dict of arrays per
    shard, read when it is needed."""

    def __init__(self, shards):
        self._shards = shards

    @property
    def files(self):
        """Of the shards; empty where they are in memory."""
        return [shard for shard in self._shards if not isinstance(shard, dict)]

    @property
    def names(self):
        """Of the arrays that each shard holds."""
        return list(next(iter(self)))

    def keys(self):
        """The same as names: with it, dict(rollouts) holds all arrays."""
        return self.names

    def __contains__(self, name):
        return name in self.names

    def __iter__(self):
        for shard in self._shards:
            arrays = shard if isinstance(shard, dict) else read_shard(shard)
            if arrays is None:
                raise Error(f"{shard}: is damaged, expected a shard of rollout; call it again to make this one anew")
            yield arrays

    def __len__(self):
        return sum(len(arrays["index"]) for arrays in self)

    def __getitem__(self, name):
        parts = []
        for arrays in self:
            if name not in arrays:
                raise KeyError(f"{name}: there are {', '.join(arrays)}")
            parts.append(arrays[name])
        return np.concatenate(parts)

    def __repr__(self):
        return f"<almond.Rollouts of {len(self)} worlds: {', '.join(self.names)}>"
