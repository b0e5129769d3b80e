import assert from "node:assert/strict";
import { WaitingRoom } from "../../../src/transport/door/waiting_room.ts";

class Connection {
  isClosed = false;
  close(): void {
    this.isClosed = true;
  }
}

function fill(room: WaitingRoom, address: string, count: number): Connection[] {
  return Array.from({ length: count }, () => {
    const connection = new Connection();
    room.enter(connection, address);
    return connection;
  });
}

const closed = (connections: Connection[]) => connections.map(({ isClosed }) => isClosed);

Deno.test("WaitingRoom lets every newcomer in, and drops the one that has waited longest", () => {
  const room = new WaitingRoom({ maxConnections: 3 });
  const connections = fill(room, "a", 5);
  assert.deepEqual(closed(connections), [true, true, false, false, false]);
  assert.equal(room.size, 3);
});

Deno.test("WaitingRoom takes from the address that has most, not from those that have few", () => {
  const room = new WaitingRoom({ maxConnections: 6 });
  const few = fill(room, "few", 2);
  const many = fill(room, "many", 10);
  assert.deepEqual(closed(few), [false, false]);
  assert.equal(many.filter(({ isClosed }) => !isClosed).length, 4);
  const late = fill(room, "late", 1);
  assert.deepEqual([...closed(few), ...closed(late)], [false, false, false]);
});

Deno.test("WaitingRoom does not count connections that have left, and does not touch them", () => {
  const room = new WaitingRoom({ maxConnections: 2 });
  const [first, second] = fill(room, "a", 2);
  room.leave(first!, "a");
  room.leave(first!, "a");
  assert.equal(room.size, 1);
  const third = fill(room, "a", 1)[0]!;
  assert.deepEqual(closed([first!, second!, third]), [false, false, false]);
  room.closeAll();
  assert.deepEqual(closed([first!, second!, third]), [false, true, true]);
  assert.deepEqual([room.size, room.closeOne()], [0, false]);
});
