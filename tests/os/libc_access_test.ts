import assert from "node:assert/strict";

const PROGRAM = new URL("../fixtures/show_libc_access.ts", import.meta.url).pathname;
const USUAL_PLACE = Deno.build.arch === "aarch64"
  ? "/lib/aarch64-linux-gnu/libc.so.6"
  : "/lib/x86_64-linux-gnu/libc.so.6";

async function access(...permissions: string[]): Promise<string> {
  const args = ["run", "--quiet", "--no-prompt", "--allow-read", ...permissions, PROGRAM];
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), { args }).output();
  return new TextDecoder().decode(stdout).trimEnd() + new TextDecoder().decode(stderr);
}

const REFUSED = "this server cannot call the C library: it runs without --allow-ffi";

Deno.test("whyNoLibc() says what loading the library would come to, for every way to permit it", async () => {
  assert.equal(await access("--allow-ffi"), "epoll: true");
  assert.equal(await access(), REFUSED);
  assert.equal(await access("--allow-ffi", "--deny-ffi"), REFUSED);
  assert.equal(await access("--allow-ffi=/lib/other.so"), REFUSED);
  // The runtime takes it for a file of the working directory.
  assert.equal(await access("--allow-ffi=libc.so.6"), REFUSED);
});

Deno.test({
  name: "whyNoLibc() takes a permission for the library's file for one for all",
  ignore: await Deno.stat(USUAL_PLACE).then(() => false, () => true),
  fn: async () => assert.equal(await access(`--allow-ffi=${USUAL_PLACE}`), "epoll: true"),
});
