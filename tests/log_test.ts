import assert from "node:assert/strict";
import { createLogger, type LogFormat, type LogLevel, MAX_FIELD_CHARS } from "../src/log.ts";

/** What a logger writes for one use of it. */
function written(format: LogFormat, level: LogLevel, use: (log: ReturnType<typeof createLogger>) => void): string[] {
  const lines: string[] = [];
  const now = () => new Date("2026-01-02T03:04:05.678Z");
  use(createLogger({ format, level, write: (line) => lines.push(line), now }));
  return lines;
}

Deno.test("a logger says which levels it prints, and prints those", () => {
  const lines = written("text", "info", (log) => {
    assert.deepEqual([log.prints("error"), log.prints("info"), log.prints("debug")], [true, true, false]);
    assert.equal(log.with({ a: 1 }).prints("debug"), false);
    log.with({ a: 1 }).info("kept", { b: "x y", c: undefined });
    log.debug("dropped");
  });
  assert.deepEqual(lines, ['03:04:05.678 INFO  kept a=1 b="x y"\n']);
});

Deno.test("a field of any length stays bounded, and a line stays a line", () => {
  for (const format of ["text", "json"] as const) {
    const [line] = written(
      format,
      "info",
      (log) => log.info("m", { id: "a\nb\u2028\x1b[31m" + "x".repeat(1_000_000) }),
    );
    assert.ok(line!.length < MAX_FIELD_CHARS + 200, `${line!.length}`);
    assert.ok(line!.includes("x…"));
    assert.equal(line!.trimEnd().split("\n").length, 1);
    assert.ok(!line!.includes("\x1b"));
  }
});

Deno.test("no line holds a character that is invisible or changes the direction of text", () => {
  const hostile = "a\u009b31m\u2028b\u202ec\u2066";
  for (const format of ["text", "json"] as const) {
    const [line] = written(format, "info", (log) => log.info(`m ${hostile}`, { id: hostile }));
    assert.doesNotMatch(line!.trimEnd(), /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u, format);
    assert.equal(line!.split("a\\u009b31m\\u2028b\\u202ec\\u2066").length, 3, line);
    if (format === "json") assert.equal(JSON.parse(line!).id, hostile);
  }
});
