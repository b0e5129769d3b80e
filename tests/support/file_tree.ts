/** A temporary directory with files in it, gone when the test is over. */

export class FileTree implements AsyncDisposable {
  readonly root: string;

  private constructor(root: string) {
    this.root = root;
  }

  static async make(files: Readonly<Record<string, string | Uint8Array>> = {}): Promise<FileTree> {
    // Without links, so that paths can be compared.
    const tree = new FileTree(await Deno.realPath(await Deno.makeTempDir({ prefix: "exec-server-test-" })));
    for (const [path, content] of Object.entries(files)) await tree.write(path, content);
    return tree;
  }

  path(relative: string): string {
    return `${this.root}/${relative}`;
  }

  uri(relative: string): string {
    return `file://${this.path(relative)}`;
  }

  /** Makes the directories on the way. */
  async write(relative: string, content: string | Uint8Array): Promise<void> {
    const path = this.path(relative);
    await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
    await (typeof content === "string" ? Deno.writeTextFile(path, content) : Deno.writeFile(path, content));
  }

  async directory(relative: string): Promise<void> {
    await Deno.mkdir(this.path(relative), { recursive: true });
  }

  async link(relative: string, target: string): Promise<void> {
    await Deno.symlink(target, this.path(relative));
  }

  async remove(relative: string): Promise<void> {
    await Deno.remove(this.path(relative), { recursive: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.root, { recursive: true });
  }
}
