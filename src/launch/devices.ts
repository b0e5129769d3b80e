/**
 * The devices of every sandbox: programs need them, and write to them without changing anything. The terminals of others
 * (`/dev/pts`) are not among them.
 */
export const DEVICES: readonly string[] = [
  "/dev/null",
  "/dev/zero",
  "/dev/full",
  "/dev/random",
  "/dev/urandom",
  "/dev/tty",
];
