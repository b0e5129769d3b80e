/**
 * `deno task build:client`: the client library as an npm package, `dist/exec-server-VERSION.tgz`.
 *
 * The TypeScript compiler emits modules for ES2022, type declarations and source maps; types were checked by `deno check`
 * before. The package has two doors, `exec-server/client` and `exec-server/protocol`, and needs zod for the second alone, the
 * noble packages for executors behind a rendezvous alone.
 */

const ROOT = new URL("..", import.meta.url);
const PACKAGE = new URL("dist/client-package/", ROOT);
const TYPESCRIPT = "npm:typescript@5.9.3";
/** Where it is compiled: beside the packages whose types the declarations name, so that they name these as users do. */
const WORK = new URL("dist/client-work/", ROOT);
const NODE_TYPES = "@types/node@22";
const DEPENDENCIES = ["zod", "@noble/curves", "@noble/hashes", "@noble/post-quantum"];

const { name, version, license, imports } = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT)));

await Deno.remove(PACKAGE, { recursive: true }).catch(() => {});
await Deno.mkdir(PACKAGE, { recursive: true });
await emit();
await rewriteDeclarations(new URL("lib/", PACKAGE));
await describe();
console.log(await pack());

/** Modules, declarations and maps to `lib`. */
async function emit(): Promise<void> {
  await Deno.mkdir(WORK, { recursive: true });
  const packages = DEPENDENCIES.map((name) => imports[name].replace("npm:", ""));
  await run("npm", ["i", "--silent", "--no-audit", "--no-fund", "--prefix", WORK.pathname, ...packages, NODE_TYPES]);
  await Deno.remove(new URL("src", WORK), { recursive: true }).catch(() => {});
  await run("cp", ["-r", new URL("src", ROOT).pathname, WORK.pathname]);
  const config = {
    compilerOptions: {
      target: "es2022",
      module: "esnext",
      moduleResolution: "bundler",
      lib: ["es2024", "esnext.disposable", "esnext.array", "dom", "dom.iterable", "dom.asynciterable"],
      types: ["node"],
      strict: true,
      declaration: true,
      sourceMap: true,
      inlineSources: true,
      rewriteRelativeImportExtensions: true,
      // `deno check` has checked them, with the types of Deno and Node at hand.
      noCheck: true,
      rootDir: new URL("src", WORK).pathname,
      outDir: new URL("lib", PACKAGE).pathname,
    },
    files: ["src/client/mod.ts", "src/protocol/mod.ts"].map((file) => new URL(file, WORK).pathname),
  };
  const file = new URL("tsconfig.json", WORK);
  await Deno.writeTextFile(file, JSON.stringify(config));
  await run(Deno.execPath(), ["run", "--quiet", "--no-lock", "--allow-all", `${TYPESCRIPT}/tsc`, "-p", file.pathname]);
}

/** Declarations name modules as sources do; consumers have the emitted ones. */
async function rewriteDeclarations(folder: URL): Promise<void> {
  for await (const entry of Deno.readDir(folder)) {
    const url = new URL(entry.name + (entry.isDirectory ? "/" : ""), folder);
    if (entry.isDirectory) await rewriteDeclarations(url);
    else if (entry.name.endsWith(".d.ts")) {
      const text = await Deno.readTextFile(url);
      await Deno.writeTextFile(url, text.replace(/((?:from|import\()\s*"\.[^"]*)\.ts"/g, '$1.js"'));
    }
  }
}

async function describe(): Promise<void> {
  const door = (folder: string) => ({ types: `./lib/${folder}/mod.d.ts`, default: `./lib/${folder}/mod.js` });
  const description = {
    name,
    version,
    license,
    description: "Client library of exec-server: a devbox in your hands, from Deno, Node, Bun and the browser.",
    type: "module",
    sideEffects: false,
    engines: { node: ">=22" },
    exports: { "./client": door("client"), "./protocol": door("protocol") },
    files: ["lib", "README.md", "LICENSE"],
    dependencies: Object.fromEntries(DEPENDENCIES.map((name) => [name, `^${/[^@]+$/.exec(imports[name])![0]}`])),
  };
  await Deno.writeTextFile(new URL("package.json", PACKAGE), `${JSON.stringify(description, null, 2)}\n`);
  await Deno.copyFile(new URL("LICENSE", ROOT), new URL("LICENSE", PACKAGE));
  await Deno.copyFile(new URL("docs/client.md", ROOT), new URL("README.md", PACKAGE));
}

/** The path of the tarball. */
async function pack(): Promise<string> {
  const dist = new URL("dist/", ROOT).pathname;
  await run("npm", ["pack", "--silent", "--pack-destination", dist], PACKAGE.pathname);
  return `${dist}${name}-${version}.tgz`;
}

async function run(program: string, args: string[], cwd?: string): Promise<void> {
  const { success, stdout, stderr } = await new Deno.Command(program, { args, ...(cwd === undefined ? {} : { cwd }) })
    .output();
  if (success) return;
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  throw new Error(`${program} ${args.join(" ")} failed: ${text(stdout)}${text(stderr)}`);
}
