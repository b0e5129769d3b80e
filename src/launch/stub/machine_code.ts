/**
 * The few machine instructions the launch stub is made of, encoded for each architecture.
 *
 * An emitter appends instructions; nothing is executed here. The stub keeps the address of its arguments (its initial
 * stack pointer) in one register; the other registers hold the arguments of system calls.
 */

import type { Architecture } from "./syscalls.ts";

/** Jumps to the place where `land` is called. */
export interface ForwardJump {
  land(): void;
}

export interface Emitter {
  /** Remembers where the kernel put the argument count, the arguments and the environment. Must come first. */
  keepStart(): void;
  /** Loads a number into the register of a system call's argument. */
  argument(index: number, value: number): void;
  /** Loads the word that lies so many bytes after the start into an argument. */
  wordFromStart(index: number, offset: number): void;
  /** Loads the address so many bytes after the start into an argument. */
  addressFromStart(index: number, offset: number): void;
  /** Loads the address of the environment, which follows the arguments and their end, into the third argument. */
  environmentAddress(): void;
  systemCall(number: number): void;
  /** Loads an address with room for a few bytes, below the stack, into the second argument. */
  scratchAddress(): void;
  /** Uses the descriptor that the last call returned as the first argument of the next. */
  resultAsFirstArgument(): void;
  /** Jumps always. */
  jump(): ForwardJump;
  /** Jumps when the last call failed. */
  jumpIfFailed(): ForwardJump;
  /** Jumps when the last call failed or returned 0. */
  jumpUnlessPositive(): ForwardJump;
  /** Writes `tag` and the last call's error number, five bytes, to a descriptor. */
  reportFailure(tag: number, descriptor: number, writeNumber: number): void;
  /** The instructions emitted so far. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** For a stub that starts children of its own. */
export interface ForkingEmitter extends Emitter {
  /** Remembers the child whose number the last call returned. */
  keepChild(): void;
  /**
   * Waits for that child, and reaps whatever else ends before it. Then ends with the child's exit code; if a signal ended
   * it, with 128 and the signal's number.
   */
  endWithChild(waitNumber: number, exitNumber: number): void;
}

export function createEmitter(architecture: "x86_64"): ForkingEmitter;
export function createEmitter(architecture: Architecture): Emitter;
export function createEmitter(architecture: Architecture): Emitter {
  return architecture === "x86_64" ? new X86Emitter() : new Arm64Emitter();
}

/** Where the next constant, or the data behind the code, may begin. */
export const align = (bytes: number): number => Math.ceil(bytes / 16) * 16;

/** For `wait4`. */
const ANY_CHILD = -1;

/** Length of a failure report: the tag and a 32-bit error number. */
export const FAILURE_REPORT_BYTES = 5;

class X86Emitter implements ForkingEmitter {
  readonly #code: number[] = [];

  /** `mov r32, imm32` for rdi, rsi, rdx, r10, r8, r9: clears the upper half as well. */
  static readonly #MOVE_NUMBER = [[0xbf], [0xbe], [0xba], [0x41, 0xba], [0x41, 0xb8], [0x41, 0xb9]];
  /** The operand byte of `op reg, [rbx + disp32]` for rdi, rsi, rdx. */
  static readonly #FROM_RBX = [0xbb, 0xb3, 0x93];

  keepStart(): void {
    this.#code.push(0x48, 0x89, 0xe3); // mov rbx, rsp
  }

  argument(index: number, value: number): void {
    this.#code.push(...at(X86Emitter.#MOVE_NUMBER, index), ...littleEndian(value));
  }

  wordFromStart(index: number, offset: number): void {
    this.#code.push(0x48, 0x8b, at(X86Emitter.#FROM_RBX, index), ...littleEndian(offset)); // mov reg, [rbx + offset]
  }

  addressFromStart(index: number, offset: number): void {
    this.#code.push(0x48, 0x8d, at(X86Emitter.#FROM_RBX, index), ...littleEndian(offset)); // lea reg, [rbx + offset]
  }

  environmentAddress(): void {
    this.#code.push(0x48, 0x8b, 0x03); // mov rax, [rbx]: the argument count
    this.#code.push(0x48, 0x8d, 0x54, 0xc3, 0x10); // lea rdx, [rbx + rax * 8 + 16]
  }

  systemCall(number: number): void {
    this.#code.push(0xb8, ...littleEndian(number)); // mov eax, number
    this.#code.push(0x0f, 0x05); // syscall
  }

  scratchAddress(): void {
    this.#code.push(0x48, 0x8d, 0x74, 0x24, 0xf0); // lea rsi, [rsp - 16]
  }

  resultAsFirstArgument(): void {
    this.#code.push(0x89, 0xc7); // mov edi, eax
  }

  jump(): ForwardJump {
    this.#code.push(0xe9, 0, 0, 0, 0); // jmp
    return this.#distance();
  }

  jumpIfFailed(): ForwardJump {
    this.#code.push(0x48, 0x85, 0xc0); // test rax, rax
    this.#code.push(0x0f, 0x88, 0, 0, 0, 0); // js
    return this.#distance();
  }

  jumpUnlessPositive(): ForwardJump {
    this.#code.push(0x48, 0x85, 0xc0); // test rax, rax
    this.#code.push(0x0f, 0x8e, 0, 0, 0, 0); // jle
    return this.#distance();
  }

  /** The last four bytes are the distance of the jump, filled in when it is known. */
  #distance(): ForwardJump {
    const next = this.#code.length;
    return { land: () => void this.#code.splice(next - 4, 4, ...littleEndian(this.#code.length - next)) };
  }

  reportFailure(tag: number, descriptor: number, writeNumber: number): void {
    this.#code.push(0x48, 0xf7, 0xd8); // neg rax
    this.#code.push(0x48, 0xc1, 0xe0, 0x08); // shl rax, 8
    this.#code.push(0x48, 0x83, 0xc8, tag); // or rax, tag
    this.#code.push(0x50); // push rax
    this.#code.push(0x48, 0x89, 0xe6); // mov rsi, rsp
    this.argument(0, descriptor);
    this.argument(2, FAILURE_REPORT_BYTES);
    this.systemCall(writeNumber);
  }

  keepChild(): void {
    this.#code.push(0x41, 0x89, 0xc4); // mov r12d, eax
  }

  endWithChild(waitNumber: number, exitNumber: number): void {
    const loop = this.#code.length;
    this.argument(0, ANY_CHILD);
    this.scratchAddress();
    this.argument(2, 0);
    this.argument(3, 0);
    this.systemCall(waitNumber);
    this.#code.push(0x44, 0x39, 0xe0); // cmp eax, r12d
    this.#code.push(0x75, (loop - this.#code.length - 2) & 0xff); // jne loop
    this.#code.push(0x8b, 0x44, 0x24, 0xf0); // mov eax, [rsp - 16]
    this.#code.push(0x0f, 0xb6, 0xfc); // movzx edi, ah: the exit code
    this.#code.push(0x83, 0xe0, 0x7f); // and eax, 0x7f: the signal
    this.#code.push(0x74, 0x06); // jz over the next instruction
    this.#code.push(0x8d, 0xb8, ...littleEndian(128)); // lea edi, [rax + 128]
    this.systemCall(exitNumber);
  }

  get bytes(): Uint8Array<ArrayBuffer> {
    return Uint8Array.from(this.#code);
  }
}

class Arm64Emitter implements Emitter {
  readonly #words: number[] = [];

  keepStart(): void {
    this.#words.push(0x910003f3); // mov x19, sp
  }

  argument(index: number, value: number): void {
    this.#move(index, value);
  }

  wordFromStart(index: number, offset: number): void {
    this.#words.push(0xf9400000 | ((offset / 8) << 10) | (19 << 5) | index); // ldr x, [x19, #offset]
  }

  addressFromStart(index: number, offset: number): void {
    this.#words.push(0x91000000 | (offset << 10) | (19 << 5) | index); // add x, x19, #offset
  }

  environmentAddress(): void {
    this.#words.push(0xf9400269); // ldr x9, [x19]: the argument count
    this.#words.push(0x8b090e62); // add x2, x19, x9, lsl #3
    this.#words.push(0x91004042); // add x2, x2, #16
  }

  systemCall(number: number): void {
    this.#move(8, number);
    this.#words.push(0xd4000001); // svc #0
  }

  scratchAddress(): void {
    this.#words.push(0xd10043e1); // sub x1, sp, #16
  }

  resultAsFirstArgument(): void {
    // The same register.
  }

  jump(): ForwardJump {
    const from = this.#words.push(0) - 1;
    return { land: () => void (this.#words[from] = 0x14000000 | (this.#words.length - from)) }; // b
  }

  jumpIfFailed(): ForwardJump {
    const from = this.#words.push(0) - 1;
    // tbnz x0, #63: the sign bit, and how many instructions to skip.
    return { land: () => void (this.#words[from] = 0xb7f80000 | ((this.#words.length - from) << 5)) };
  }

  jumpUnlessPositive(): ForwardJump {
    this.#words.push(0xf100001f); // cmp x0, #0
    const from = this.#words.push(0) - 1;
    return { land: () => void (this.#words[from] = 0x5400000d | ((this.#words.length - from) << 5)) }; // b.le
  }

  reportFailure(tag: number, descriptor: number, writeNumber: number): void {
    this.#words.push(0xcb0003e0); // neg x0, x0
    this.#words.push(0xd378dc00); // lsl x0, x0, #8
    this.#move(9, tag);
    this.#words.push(0xaa090000); // orr x0, x0, x9
    this.#words.push(0xf81f0fe0); // str x0, [sp, #-16]!
    this.#words.push(0x910003e1); // mov x1, sp
    this.argument(0, descriptor);
    this.argument(2, FAILURE_REPORT_BYTES);
    this.systemCall(writeNumber);
  }

  /** `movz` and `movk`, 16 bits each. */
  #move(register: number, value: number): void {
    this.#words.push(0xd2800000 | ((value & 0xffff) << 5) | register);
    const high = value >>> 16;
    if (high !== 0) this.#words.push(0xf2a00000 | (high << 5) | register);
  }

  get bytes(): Uint8Array<ArrayBuffer> {
    return Uint8Array.from(this.#words.flatMap((word) => littleEndian(word)));
  }
}

function littleEndian(value: number): number[] {
  return [value & 0xff, (value >>> 8) & 0xff, (value >>> 16) & 0xff, (value >>> 24) & 0xff];
}

function at<T>(list: readonly T[], index: number): T {
  const item = list[index];
  if (item === undefined) throw new RangeError(`no register for argument ${index}`);
  return item;
}
