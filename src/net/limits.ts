/** Every bound of tunnels, with its reason. */

/**
 * Open tunnels of one connection: a browser opens some ten to a page. Each has a descriptor and a buffer of 64 KiB.
 */
export const MAX_TUNNELS = 128;

/** The same of all connections of a server: at the least number of descriptors a system gives (1024), a quarter. */
export const MAX_TUNNELS_OF_ALL = 256;

/**
 * Data of one tunnel that its client has not acknowledged. Then nothing more is read from the other end, so that a reader
 * that is slow holds up its own tunnel and no other. At a round trip of 20 ms it allows 12 MiB a second.
 */
export const TUNNEL_WINDOW_BYTES = 256 * 1024;

/** Read from the other end at a time. */
export const TUNNEL_READ_BYTES = 64 * 1024;

/** On one machine a connection is there at once. Only a listener whose line is full makes it wait. */
export const TUNNEL_CONNECT_MS = 10_000;
