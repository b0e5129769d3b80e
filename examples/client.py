#!/usr/bin/python3
"""A complete client of exec-server: the standard library and Debian's python3-websockets.

    exec-server                       # prints ws://127.0.0.1:42185/?token=…
    examples/client.py 'ws://127.0.0.1:42185/?token=…'

It writes and reads a file, runs a command, follows its output, writes to its input, loses its connection on purpose,
comes back, and misses nothing. docs/protocol.md explains every step. A token that is not in the URL
goes into the variable EXEC_SERVER_TOKEN.
"""
import asyncio
import base64
import json
import os
import sys
import websockets

RETRY_SECONDS = 0.2


class RpcError(Exception):
    def __init__(self, error):
        super().__init__(error["message"])
        self.code = error["code"]


class Client:
    """One session. `call` outlives lost connections; so does following a process."""

    def __init__(self, url):
        self.url = url
        self.session_id = None
        self.socket = None
        self.next_id = 0
        self.open = {}  # id -> future of the answer
        self.cursors = {}  # processId -> largest seq that was handed on
        self.exited = set()
        self.events = {}  # processId -> queue of (method, params)

    async def connect(self):
        token = os.environ.get("EXEC_SERVER_TOKEN")
        headers = {"Authorization": f"Bearer {token}"} if token else None
        # The name of this argument changed with version 14.
        name = "additional_headers" if int(websockets.__version__.split(".")[0]) >= 14 else "extra_headers"
        self.socket = await websockets.connect(self.url, max_size=64 * 2**20, **{name: headers})
        self.reader = asyncio.create_task(self.read())
        params = {"clientName": "examples/client.py"}
        if self.session_id is not None:
            # The server may not have noticed yet that the old connection is gone: do not wait for that.
            params |= {"resumeSessionId": self.session_id, "takeover": True}
        result = await self.send("initialize", params)
        self.session_id = result["sessionId"]
        await self.socket.send(json.dumps({"method": "initialized"}))

    async def reconnect(self):
        while True:
            try:
                await self.connect()
                break
            except (OSError, websockets.exceptions.WebSocketException):  # An RpcError is the server's last word.
                await asyncio.sleep(RETRY_SECONDS)
        # What happened meanwhile is not sent again, so it is read.
        for process_id in self.events:
            state = await self.send("process/read", {"processId": process_id, "afterSeq": self.cursors[process_id]})
            for chunk in state["chunks"]:
                self.hand_on(process_id, chunk["seq"], "process/output", chunk)
            if state["exited"]:
                self.hand_on(process_id, 0, "process/exited", {"exitCode": state["exitCode"]})
            if state["closed"]:
                self.hand_on(process_id, state["nextSeq"] - 1, "process/closed", {})

    async def read(self):
        try:
            async for text in self.socket:
                message = json.loads(text)
                if "method" in message:
                    params = message["params"]
                    if params.get("processId") in self.events and "seq" in params:
                        self.hand_on(params["processId"], params["seq"], message["method"], params)
                elif message["id"] in self.open:
                    self.open.pop(message["id"]).set_result(message)
        except websockets.exceptions.ConnectionClosed:
            pass
        for future in self.open.values():
            future.set_exception(ConnectionError("the connection was lost"))
        self.open.clear()

    def hand_on(self, process_id, seq, method, params):
        """Each event once: after a resume some come twice, read and told."""
        is_exit = method == "process/exited"
        if process_id in self.exited if is_exit else seq <= self.cursors[process_id]:
            return
        if is_exit:
            self.exited.add(process_id)
        self.cursors[process_id] = max(seq, self.cursors[process_id])
        self.events[process_id].put_nowait((method, params))

    async def send(self, method, params):
        self.next_id += 1
        future = self.open[self.next_id] = asyncio.get_running_loop().create_future()
        await self.socket.send(json.dumps({"id": self.next_id, "method": method, "params": params}))
        message = await future
        if "error" in message:
            raise RpcError(message["error"])
        return message["result"]

    async def call(self, method, params):
        """A request that may be repeated: those here are, also process/write, because it has a writeId."""
        try:
            return await self.send(method, params)
        except (ConnectionError, websockets.exceptions.ConnectionClosed):
            await self.reconnect()
            return await self.call(method, params)

    async def start(self, process_id, argv):
        self.cursors[process_id], self.events[process_id] = 0, asyncio.Queue()
        command = {"argv": argv, "cwd": "/tmp", "env": {"PATH": "/usr/bin:/bin"}, "tty": False, "pipeStdin": True}
        await self.call("process/start", {"processId": process_id} | command)


async def main(url):
    client = Client(url)
    await client.connect()

    path = f"/tmp/exec-server-example-{os.getpid()}.txt"
    await client.call("fs/writeFile", {"path": path, "dataBase64": base64.b64encode(b"from a file\n").decode()})
    await client.start("p1", ["sh", "-c", f"cat {path}; read line; echo got $line; sleep 0.5; echo after the cut"])
    while True:
        method, params = await client.events["p1"].get()
        if method == "process/output":
            text = base64.b64decode(params["chunk"])
            sys.stdout.write(text.decode())
            if b"from a file" in text:
                chunk = base64.b64encode(b"a line\n").decode()
                await client.call("process/write", {"processId": "p1", "chunk": chunk, "writeId": "w1"})
            if b"got" in text:
                client.socket.transport.abort()  # As a network does it: without a word.
                await client.reconnect()
        elif method == "process/exited":
            print("exit code", params["exitCode"])
        elif method == "process/closed":
            break
    content = (await client.call("fs/readFile", {"path": path}))["dataBase64"]
    print("the file:", base64.b64decode(content).decode(), end="")
    await client.call("fs/remove", {"path": path})
    await client.socket.close()


asyncio.run(main(sys.argv[1]))
