/** Named pipes as gates: a child stands at one until the test opens it, and the test sees who still holds one. */

export class Gate {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async make(directory: string, name: string): Promise<Gate> {
    const path = `${directory}/${name}`;
    const { success } = await new Deno.Command("mkfifo", { args: [path] }).output();
    if (!success) throw new Error(`cannot make ${path}`);
    return new Gate(path);
  }

  /** Lets through one reader of the pipe, as in `read go < gate`; waits for it to come. */
  async open(): Promise<void> {
    using file = await Deno.open(this.path, { write: true });
    await file.write(new TextEncoder().encode("go\n"));
  }

  /** Everything written to the pipe until nobody has it open for writing any more. Waits for the first writer. */
  async readAll(): Promise<string> {
    return await Deno.readTextFile(this.path);
  }
}
