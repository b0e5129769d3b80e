/** The launch stub's instructions for arm64. */

import { type Emitter, FAILURE_REPORT_BYTES, type ForwardJump, littleEndian } from "./machine_code.ts";

export class Arm64Emitter implements Emitter {
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
