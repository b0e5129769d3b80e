/**
 * Room for what a request gathers before it can answer.
 *
 * Bytes are taken as they become known, and before they are held. Whoever has to wait for room must hold nothing
 * meanwhile: the work is given up then, and begun anew when it may have twice as much.
 */

const MIB = 1024 * 1024;

/** Takes this many bytes in all, with a promise where that has to be waited for. */
export type Reserve = (bytes: number) => void | Promise<void>;

/** What a request brings along for work that may be long or large. Without any of it nothing is bounded. */
export interface Surroundings {
  /** Aborted when nobody wants the answer any more. */
  readonly signal?: AbortSignal;
  readonly reserve?: Reserve;
  readonly pace?: Pace;
}

/** Gives way to others, by time. */
export interface Pace {
  readonly isOver: boolean;
  /** Resolves when everybody else had a turn. */
  rest(): Promise<void>;
}

/** Lets work end that has to begin anew. No domain error: nothing may take it for a failure of its own. */
class NoRoom extends Error {
  readonly untilRoom: Promise<void>;

  constructor(untilRoom: Promise<void>) {
    super("there is no room for the answer yet");
    this.untilRoom = untilRoom;
    // The work may still have to come to its end when the connection does.
    untilRoom.catch(() => {});
  }
}

export interface Room {
  /** @throws when there is no room, now and ever after: what was gathered is to be dropped */
  take(bytes: number): void;
  /** What was taken is not held any more. */
  give(bytes: number): void;
}

class AnswerRoom implements Room {
  readonly #reserve: Reserve | undefined;
  #used = 0;
  #noRoom: NoRoom | null = null;

  constructor(reserve?: Reserve) {
    this.#reserve = reserve;
  }

  take(bytes: number): void {
    this.#used += bytes;
    if (this.#noRoom !== null) throw this.#noRoom;
    const untilRoom = this.#reserve?.(wholeMebibytes(this.#used));
    if (untilRoom !== undefined) throw this.#noRoom = new NoRoom(untilRoom);
  }

  give(bytes: number): void {
    this.#used -= bytes;
  }
}

/** What one part of the work has taken, to be given back together. */
export class PartOfRoom implements Room {
  readonly #room: Room;
  #taken = 0;

  constructor(room: Room) {
    this.#room = room;
  }

  take(bytes: number): void {
    this.#taken += bytes;
    this.#room.take(bytes);
  }

  give(bytes: number): void {
    this.#taken -= bytes;
    this.#room.give(bytes);
  }

  giveAll(): void {
    this.give(this.#taken);
  }
}

/** Powers of two, so that work which grows from byte to byte begins anew a few times at most. */
function wholeMebibytes(bytes: number): number {
  let whole = MIB;
  while (whole < bytes) whole *= 2;
  return whole;
}

/** Does the work, again and again until there is room for all that it gathers. It must hold nothing once it rejects. */
export async function withRoom<T>(reserve: Reserve | undefined, work: (room: Room) => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work(new AnswerRoom(reserve));
    } catch (error) {
      if (!(error instanceof NoRoom)) throw error;
      await error.untilRoom;
    }
  }
}
