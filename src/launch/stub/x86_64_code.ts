/** The launch stub's instructions for x86-64, where it can also start children of its own. */

import {
  at,
  END_REPORT_BYTES,
  type EndingCalls,
  FAILURE_REPORT_BYTES,
  type ForkingEmitter,
  type ForwardJump,
  littleEndian,
} from "./machine_code.ts";

/** For `wait4`. */
const ANY_CHILD = -1;
const WNOHANG = 1;

export class X86Emitter implements ForkingEmitter {
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

  closeAllBut(kept: number, { last, close }: { readonly last: number; readonly close: number }): void {
    this.#code.push(0x41, 0xbd, ...littleEndian(last)); // mov r13d, last
    const loop = this.#code.length;
    this.#code.push(0x44, 0x89, 0xef); // mov edi, r13d
    this.#code.push(0x81, 0xff, ...littleEndian(kept)); // cmp edi, kept
    this.#code.push(0x74, 0x07); // je over the call
    this.systemCall(close);
    this.#code.push(0x41, 0xff, 0xcd); // dec r13d
    this.#code.push(0x79, (loop - this.#code.length - 2) & 0xff); // jns loop
  }

  endWithChild({ wait, exit, write }: EndingCalls, reportDescriptor?: number): void {
    const loop = this.#code.length;
    this.#waitForAny(wait, 0);
    this.#code.push(0x44, 0x39, 0xe0); // cmp eax, r12d
    this.#code.push(0x75, (loop - this.#code.length - 2) & 0xff); // jne loop
    this.#code.push(0x44, 0x8b, 0x6c, 0x24, 0xf0); // mov r13d, [rsp - 16]: the child's status
    if (reportDescriptor !== undefined) this.#reportEnd(reportDescriptor, wait, write);
    this.#code.push(0x44, 0x89, 0xe8); // mov eax, r13d
    this.#code.push(0x0f, 0xb6, 0xfc); // movzx edi, ah: the exit code
    this.#code.push(0x83, 0xe0, 0x7f); // and eax, 0x7f: the signal
    this.#code.push(0x74, 0x06); // jz over the next instruction
    this.#code.push(0x8d, 0xb8, ...littleEndian(128)); // lea edi, [rax + 128]
    this.systemCall(exit);
  }

  /** The report lies at [rsp - 16]: r13d, and a byte behind it. */
  #reportEnd(descriptor: number, wait: number, write: number): void {
    this.#waitForAll(wait, WNOHANG);
    this.#code.push(0x0f, 0x98, 0x44, 0x24, 0xf4); // sets byte [rsp - 12]: there is no child
    this.#code.push(0x44, 0x89, 0x6c, 0x24, 0xf0); // mov [rsp - 16], r13d
    this.argument(0, descriptor);
    this.scratchAddress();
    this.argument(2, END_REPORT_BYTES);
    this.systemCall(write);
    this.#code.push(0x80, 0x7c, 0x24, 0xf4, 0x00); // cmp byte [rsp - 12], 0
    this.#code.push(0x0f, 0x85, 0, 0, 0, 0); // jne to the end
    const nothingLeft = this.#distance();
    this.#waitForAll(wait, 0);
    this.argument(0, descriptor);
    this.scratchAddress(); // Any byte will do.
    this.argument(2, 1);
    this.systemCall(write);
    nothingLeft.land();
  }

  #waitForAny(wait: number, options: number): void {
    this.argument(0, ANY_CHILD);
    this.scratchAddress();
    this.argument(2, options);
    this.argument(3, 0);
    this.systemCall(wait);
  }

  /** Goes on when there is no child, or with WNOHANG when those that are there still run. Which it is, the flags say. */
  #waitForAll(wait: number, options: number): void {
    const loop = this.#code.length;
    this.#waitForAny(wait, options);
    this.#code.push(0x85, 0xc0); // test eax, eax
    this.#code.push(0x7f, (loop - this.#code.length - 2) & 0xff); // jg loop
  }

  get bytes(): Uint8Array<ArrayBuffer> {
    return Uint8Array.from(this.#code);
  }
}
