// Right fingerprints for documents, whatever their content; apart from the client.
import { createHash } from "node:crypto";

const pack = (method, size, values) => {
  const data = Buffer.alloc(size * values.length);
  values.forEach((value, i) => data[method](value + 0, i * size));
  return data;
};
const words = (...values) => pack("writeUInt32LE", 4, values.map((value) => value >>> 0));
const doubles = (...values) => pack("writeDoubleLE", 8, values);
const digest = (...parts) => createHash("sha256").update(Buffer.concat(parts)).digest("hex");

function form(value) {
  if (value === null || typeof value === "boolean") return Buffer.from(String(value)[0]);
  if (typeof value === "number") return Buffer.concat([Buffer.from("d"), doubles(value)]);
  const [letter, size, rest] =
    typeof value === "string"
      ? ["s", Buffer.byteLength(value), [Buffer.from(value)]]
      : Array.isArray(value)
        ? ["l", value.length, value.map(form)]
        : ["o", Object.keys(value).length, Object.keys(value)
          .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
          .flatMap((key) => [form(key), form(value[key])])];
  return Buffer.concat([Buffer.from(letter), words(size), ...rest]);
}

/** A table document with its own fingerprint. */
export function signTable(table) {
  const { version, epsilon, axes, weights } = table;
  const coordinate = (axis) =>
    Array.isArray(axis) ? [words(axis.length, 1), doubles(...axis)] : [words(axis, 0)];
  const fingerprint = digest(
    Buffer.from(`noutput-table ${version}\n`),
    doubles(epsilon),
    words(weights[0].length, axes.length),
    ...axes.flatMap(coordinate),
    ...weights.map((row) => words(...row)),
  );
  return { ...table, fingerprint };
}

/** A campaign document with its own fingerprint; its tables keep theirs. */
export function sign({ fingerprint, ...found }) {
  const tables = found.tables.map((table) => table.fingerprint);
  const content = form({ ...found, tables });
  return { ...found, fingerprint: digest(Buffer.from("noutput-campaign 1\n"), content) };
}
