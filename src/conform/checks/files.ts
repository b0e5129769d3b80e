/** Files and directories. */

import { base64, type Check, holds, promised, same, textOf } from "../check.ts";
import type { Peer } from "../peer.ts";

const write = (peer: Peer, path: string, text: string) =>
  peer.result("fs/writeFile", { path, dataBase64: base64(text) });
const read = async (peer: Peer, path: string) => textOf((await peer.result("fs/readFile", { path })).dataBase64);

export const FILES: readonly Check[] = [
  promised("files/content", "A file is read as it was written, whatever its bytes are.", async (peer, scene) => {
    const path = await scene.at("content");
    const dataBase64 = Uint8Array.from({ length: 256 }, (_, byte) => byte).toBase64();
    for (const content of [dataBase64, ""]) {
      same(await peer.result("fs/writeFile", { path, dataBase64: content }), {}, "fs/writeFile");
      same(await peer.result("fs/readFile", { path }), { dataBase64: content }, "fs/readFile");
    }
  }),
  promised("files/names", "Names in URIs are percent-encoded, in both directions.", async (peer, scene) => {
    const path = await scene.at("n/sp%20ace%25%23%3F%C3%BC");
    await peer.result("fs/createDirectory", { path: await scene.at("n") });
    await write(peer, path, "x");
    const { entries } = await peer.result("fs/readDirectory", { path: await scene.at("n") });
    same(entries, [{ fileName: "sp ace%#?ü", isDirectory: false, isFile: true }], "the entries");
    same((await peer.result("fs/canonicalize", { path })).path.endsWith("/n/sp%20ace%25%23%3F%C3%BC"), true, "the URI");
  }),
  promised("files/native-paths", "Native paths are accepted, too.", async (peer, scene) => {
    await write(peer, await scene.at("native"), "x");
    same(await read(peer, await scene.native("native")), "x", "the content");
  }),
  promised("files/paths", "Text that is not a path is -32602, and a path of another machine -32600.", async (peer) => {
    for (const path of ["", "relative", "http://x/y", "file:///x?y", "file:///x#y", "file:///%00"]) {
      await peer.refused(-32602, "fs/readFile", { path });
    }
    for (const path of ["file://elsewhere/x", "file:///C:/x"]) await peer.refused(-32600, "fs/readFile", { path });
  }),
  promised("files/missing", "A file that does not exist is -32004.", async (peer, scene) => {
    const path = await scene.at("nothing");
    for (const method of ["fs/readFile", "fs/getMetadata", "fs/readDirectory", "fs/canonicalize"]) {
      await peer.refused(-32004, method, { path });
    }
    await peer.refused(-32004, "fs/writeFile", { path: `${path}/x`, dataBase64: "" });
  }),
  promised("files/below-a-file", "A path below a file is -32603.", async (peer, scene) => {
    const path = await scene.at("file");
    await write(peer, path, "x");
    await peer.refused(-32603, "fs/readFile", { path: `${path}/x` });
    await peer.refused(-32603, "fs/getMetadata", { path: `${path}/x` });
    await peer.refused(-32603, "fs/readDirectory", { path });
  }),
  promised(
    "files/no-file",
    "A directory is not read as a file: -32600; nor written as one: -32603.",
    async (peer, scene) => {
      const path = await scene.at("directory");
      await peer.result("fs/createDirectory", { path });
      await peer.refused(-32600, "fs/readFile", { path });
      await peer.refused(-32603, "fs/writeFile", { path, dataBase64: "" });
    },
  ),
  promised("files/bad-base64", "Bad base64 in fs/writeFile is -32600, and changes nothing.", async (peer, scene) => {
    const path = await scene.at("base64");
    await write(peer, path, "x");
    await peer.refused(-32600, "fs/writeFile", { path, dataBase64: "no base64" });
    same(await read(peer, path), "x", "the content");
  }),
  promised("files/metadata", "fs/getMetadata tells kind, size and times.", async (peer, scene) => {
    const path = await scene.at("metadata");
    await write(peer, path, "12345");
    const { isDirectory, isFile, isSymlink, size, modifiedAtMs } = await peer.result("fs/getMetadata", { path });
    same(
      { isDirectory, isFile, isSymlink, size },
      { isDirectory: false, isFile: true, isSymlink: false, size: 5 },
      "it",
    );
    same(modifiedAtMs > 1_500_000_000_000, true, "whether modifiedAtMs is milliseconds since 1970");
  }),
  promised(
    "files/links",
    "Links are followed and reported, and refused with followSymlinks false.",
    async (peer, scene) => {
      await write(peer, await scene.at("target"), "x");
      await scene.run(peer, `ln -s target '${await scene.native("link")}'`);
      const path = await scene.at("link");
      same(await read(peer, path), "x", "the content");
      const { isSymlink, isFile } = await peer.result("fs/getMetadata", { path });
      same([isSymlink, isFile], [true, true], "isSymlink and isFile");
      const { error } = await peer.request("fs/readFile", { path, followSymlinks: false });
      holds(error !== undefined, "a read that follows no links should be refused");
      await peer.refused(-32600, "fs/getMetadata", { path, followSymlinks: false });
      await peer.result("fs/remove", { path });
      same(await read(peer, await scene.at("target")), "x", "what it led to, after the link was removed");
    },
  ),
  promised(
    "files/directories",
    "Directories are made with missing parents, unless told otherwise.",
    async (peer, scene) => {
      const path = await scene.at("d1/d2");
      await peer.refused(-32004, "fs/createDirectory", { path, recursive: false });
      for (let again = 0; again < 2; again++) {
        same(
          await peer.result("fs/createDirectory", { path }),
          {},
          "fs/createDirectory",
        );
      }
      await peer.refused(-32603, "fs/createDirectory", { path, recursive: false });
    },
  ),
  promised(
    "files/remove",
    "fs/remove removes directories and accepts missing paths, unless told otherwise.",
    async (peer, scene) => {
      const path = await scene.at("r1");
      await peer.result("fs/createDirectory", { path: `${path}/r2` });
      await peer.refused(-32603, "fs/remove", { path, recursive: false });
      same(await peer.result("fs/remove", { path }), {}, "fs/remove");
      same(await peer.result("fs/remove", { path }), {}, "fs/remove of nothing");
      await peer.refused(-32004, "fs/remove", { path, force: false });
    },
  ),
  promised(
    "files/copy",
    "fs/copy copies files over files, and directories only with recursive.",
    async (peer, scene) => {
      const [from, to] = [await scene.at("c1"), await scene.at("c2")];
      await peer.result("fs/createDirectory", { path: from });
      await write(peer, `${from}/f`, "x");
      await peer.refused(-32600, "fs/copy", { sourcePath: from, destinationPath: to, recursive: false });
      await peer.result("fs/copy", { sourcePath: from, destinationPath: to, recursive: true });
      same(await read(peer, `${to}/f`), "x", "the copy");
      await peer.refused(-32600, "fs/copy", { sourcePath: from, destinationPath: `${from}/inside`, recursive: true });
      await peer.refused(-32602, "fs/copy", { sourcePath: from, destinationPath: to });
    },
  ),
  promised("files/copy-onto-itself", "A file copied onto itself stays as it is.", async (peer, scene) => {
    const path = await scene.at("self");
    await write(peer, path, "x");
    await peer.request("fs/copy", { sourcePath: path, destinationPath: path, recursive: false });
    same(await read(peer, path), "x", "the content");
  }),
  promised("files/walk", "fs/walk lists level by level, sorted, within its bounds.", async (peer, scene) => {
    const root = await scene.at("walk");
    for (const directory of ["b", "a/deep"]) await peer.result("fs/createDirectory", { path: `${root}/${directory}` });
    for (const file of ["c", "a/f"]) await write(peer, `${root}/${file}`, "");
    const options = { maxDepth: 9, maxDirectories: 99, maxEntries: 99, followDirectorySymlinks: false };
    const all = await peer.result("fs/walk", { path: root, options });
    const names = (result: { entries: { path: string }[] }) =>
      result.entries.map(({ path }) => path.slice(root.length + 1));
    same(names(all), ["a", "b", "c", "a/deep", "a/f"], "the entries");
    same([all.errors, all.truncated], [[], false], "errors and truncated");
    const flat = await peer.result("fs/walk", { path: root, options: { ...options, maxDepth: 0 } });
    same(names(flat), ["a", "b", "c"], "the entries of one level");
    const few = await peer.result("fs/walk", { path: root, options: { ...options, maxEntries: 2 } });
    same(few.truncated, true, "truncated, with two entries at most");
    await peer.refused(-32600, "fs/walk", { path: root, options: { ...options, maxEntries: 0 } });
  }),
];

export const STREAMS: readonly Check[] = [
  promised("streams/read", "A file is read in blocks, in any order.", async (peer, scene) => {
    const path = await scene.at("blocks");
    await write(peer, path, "0123456789");
    same(await peer.result("fs/open", { handleId: "h", path }), { handleId: "h" }, "fs/open");
    const block = async (offset: number, len: number) => {
      const { chunk, eof } = await peer.result("fs/readBlock", { handleId: "h", offset, len });
      return [textOf(chunk), eof];
    };
    same(await block(4, 3), ["456", false], "a block in the middle");
    same(await block(8, 5), ["89", true], "the last block");
    same(await block(5, 5), ["56789", false], "a last block of exact length");
    same(await block(100, 5), ["", true], "a block beyond the end");
    same(await peer.result("fs/close", { handleId: "h" }), {}, "fs/close");
    await peer.refused(-32004, "fs/readBlock", { handleId: "h", offset: 0, len: 1 });
    same(await peer.result("fs/close", { handleId: "h" }), {}, "a second fs/close");
  }),
  promised(
    "streams/refusals",
    "Ids in use or too long, and blocks of no or too many bytes, are -32600.",
    async (peer, scene) => {
      const path = await scene.at("refusals");
      await write(peer, path, "x");
      await peer.result("fs/open", { handleId: "h", path });
      await peer.refused(-32600, "fs/open", { handleId: "h", path });
      await peer.refused(-32600, "fs/open", { handleId: "h".repeat(33), path });
      await peer.refused(-32600, "fs/readBlock", { handleId: "h", offset: 0, len: 0 });
      await peer.refused(-32600, "fs/readBlock", { handleId: "h", offset: 0, len: 1_048_577 });
      await peer.refused(-32602, "fs/open", { handleId: "i", path, mode: "append" });
    },
  ),
  promised("streams/write", "A file is replaced block by block.", async (peer, scene) => {
    const path = await scene.at("replaced");
    await write(peer, path, "old content");
    await peer.result("fs/open", { handleId: "h", path, mode: "replace" });
    same(await read(peer, path), "", "the content once it is open");
    for (const [offset, text] of [[2, "cd"], [0, "ab"]] as const) {
      same(await peer.result("fs/writeBlock", { handleId: "h", offset, chunk: base64(text) }), {}, "fs/writeBlock");
    }
    await peer.refused(-32600, "fs/writeBlock", { handleId: "h", offset: 0, chunk: "" });
    await peer.result("fs/close", { handleId: "h" });
    same(await read(peer, path), "abcd", "the content");
  }, "fileWriteStreaming"),
];
