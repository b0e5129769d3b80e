/** That a patched Bash and its wrapper are the same for all commands, whatever a command does to them. */

import assert from "node:assert/strict";
import { WrapperServer } from "../../src/mcp/patched/wrapper_server.ts";
import { openDatagramPair } from "../../src/os/loop/socket_message.ts";
import { closeDescriptor } from "../../src/os/descriptor.ts";
import type { Reactor } from "../../src/os/loop/reactor.ts";
import { WritablePlaces } from "../../src/process/supervised/writable_places.ts";
import { SandboxParam } from "../../src/protocol/sandbox.ts";
import { type SceneOptions, type SupervisedScene, supervisedTest } from "../support/supervised_scene.ts";

const STOCK: SceneOptions = { patchedBash: { bash: "/bin/bash" } };
const ASK = '"$BASH_EXEC_WRAPPER"';

for (const sandbox of ["read /, write TMP", "external", null] as const) {
  const name = sandbox ?? "no sandbox";

  supervisedTest(`wrapper: no command can change what later ones execute as their wrapper (${name})`, async (scene) => {
    const evil = `#!/bin/sh\\n: > ${scene.out}/WIN\\n`;
    const ways = [
      `chmod 0 ${ASK}`,
      `printf '${evil}' > ${ASK}`,
      `printf '${evil}' > new; chmod 755 new; mv -f new ${ASK}; rm -f ${ASK}`,
    ];
    const temporary = scene.host.root.replace(/\/[^/]*$/, "");
    for (const way of ways) {
      const options = { ...STOCK, sandbox: sandbox && sandbox.replace("TMP", temporary) };
      await scene.run(`chmod 777 ${ASK} "$(dirname ${ASK})"; ${way}`, options);
      const { stdout, stderr } = await scene.run(`${ASK} /bin/echo echo asked`, { ...STOCK, sandbox: null });
      assert.equal(stdout, "asked\n", stderr);
      assert.deepEqual(Array.from(Deno.readDirSync(scene.out), ({ name }) => name), ["o.txt"]);
    }
  });
}

/** A Bash and a wrapper in a place that sandboxes may write. */
async function ownPrograms(scene: SupervisedScene): Promise<SceneOptions> {
  const place = `${scene.ws}/tools/bin`;
  await Deno.mkdir(place, { recursive: true });
  await Deno.copyFile("/bin/bash", `${place}/bash`);
  await Deno.writeTextFile(`${place}/wrapper`, "#!/bin/sh\nshift 2; echo wrapped $*\n", { mode: 0o755 });
  return { patchedBash: { bash: `${place}/bash`, wrapper: `${place}/wrapper` } };
}

supervisedTest(
  "patched: no sandbox that confines files may write the Bash or the wrapper that were named",
  async (scene) => {
    const options = await ownPrograms(scene);
    const ways = [
      "echo '#!/bin/sh' > tools/bin/NAME",
      "cp /bin/true new; mv -f new tools/bin/NAME",
      "mv tools/bin moved",
    ];
    for (const way of [...ways.flatMap((way) => [way.replace("NAME", "bash"), way.replace("NAME", "wrapper")])]) {
      const { stdout, stderr } = await scene.run(`${way} || true; ${ASK} /bin/x x ok`, options);
      assert.equal(stdout, "wrapped ok\n", way);
      assert.match(stderr, /Read-only file system|Device or resource busy/, way);
    }
    assert.deepEqual(Array.from(Deno.readDirSync(`${scene.ws}/tools/bin`), ({ name }) => name).sort(), [
      "bash",
      "wrapper",
    ]);
  },
);

for (const name of ["bash", "wrapper"]) {
  supervisedTest(`patched: where no files are confined, a ${name} that has changed is not started`, async (scene) => {
    const options = { ...await ownPrograms(scene), sandbox: null };
    const path = `${scene.ws}/tools/bin/${name}`;
    // The same content in another file, as after a restore.
    const { stdout } = await scene.run(`cp ${path} new; mv new ${path}; echo done`, options);
    assert.equal(stdout, "done\n");
    await scene.run(`cp ${path} old; cp /bin/true new; mv new ${path}`, options);
    await assert.rejects(
      scene.run("true", options),
      (error: Error) => error.message.includes(`${path} has changed since the first command`),
    );
    await Deno.rename(`${scene.ws}/old`, path);
    assert.equal((await scene.run("echo again", options)).stdout, "again\n");
  });
}

/** What the descriptors of this process are. */
function openDescriptors(): string[] {
  return Array.from(Deno.readDirSync("/proc/self/fd"), ({ name }) => name).flatMap((fd) => {
    try {
      return [Deno.readLinkSync(`/proc/self/fd/${fd}`)];
    } catch {
      return []; // The one for this very directory.
    }
  });
}

supervisedTest("wrapper: a shell whose sandbox is refused leaves no descriptor open", async (scene) => {
  const memory = () => openDescriptors().filter((target) => target.startsWith("/memfd:")).length;
  const sockets = () => openDescriptors().filter((target) => target.startsWith("socket:")).length;
  // The first shell loads what all share.
  await scene.run("true", STOCK);
  const before = [memory(), sockets()];
  // Without a directory nobody knows where the roots of the project are; a command could replace the link.
  const entries = [{ path: { type: "special", value: { kind: "project_roots" } }, access: "write" }];
  const file_system = { type: "restricted", entries };
  const permissions = { type: "managed", file_system, network: "restricted" };
  const rootless = SandboxParam.parse({ permissions, windowsSandboxLevel: "disabled" });
  const options = { shell: "/bin/bash", command: "true", login: false, cwd: scene.ws, env: {}, ...STOCK };
  const judge = { intercept: "all", escalate: "shell", strictExec: false } as const;
  for (const sandbox of [rootless, scene.host.sandbox("read /, write ws, read ws/esc")]) {
    await assert.rejects(
      scene.shells.start({
        ...options,
        ...judge,
        sandbox,
        onOutput: () => {},
        decide: () => Promise.resolve({ kind: "run" }),
      }),
      /cwd|symbolic link/,
    );
    assert.deepEqual([memory(), sockets()], before);
  }
});

supervisedTest("wrapper: where a socket cannot be waited for it is closed", (scene) => {
  const { ours, theirs } = openDatagramPair();
  const arm = () => assert.fail("no space left on device");
  const full = { register: () => ({ arm }) } as unknown as Reactor;
  assert.throws(() =>
    new WrapperServer(ours, {
      backend: scene.host.backend,
      reactor: full,
      serverEnv: {},
      writable: new WritablePlaces(),
      leavesFilesToOthers: false,
      judge: { decide: () => Promise.resolve({ kind: "run" }) },
    }), /no space left/);
  assert.throws(() => Deno.readLinkSync(`/proc/self/fd/${ours}`), Deno.errors.NotFound);
  closeDescriptor(theirs);
  return Promise.resolve();
});
