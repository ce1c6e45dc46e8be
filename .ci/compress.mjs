// Writes a .br and a .gz beside every file of a site that compresses, where they are missing
// or older than the file. The server sends them as they are.
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { extname, join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const texts = new Set([".css", ".html", ".js", ".json", ".svg", ".txt", ".wasm", ".webmanifest"]);

const isCurrent = (file, packed) => {
  const made = statSync(packed, { throwIfNoEntry: false });
  return made !== undefined && made.mtimeMs >= statSync(file).mtimeMs;
};

for (const entry of readdirSync(process.argv[2], { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || !texts.has(extname(entry.name))) continue;
  const file = join(entry.parentPath ?? entry.path, entry.name);
  if (isCurrent(file, `${file}.br`) && isCurrent(file, `${file}.gz`)) continue;
  const bytes = readFileSync(file);
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
  };
  writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params }));
  writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
}
