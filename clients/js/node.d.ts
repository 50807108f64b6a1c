import type { LedgerLocks, LedgerStorage } from "./noutput.js";

/**
 * A ledger for Node in a folder that processes can share: `new Client(campaign, { policy, ...openLedger(folder) })`.
 * It is on the disk before a report is returned. The file system must have hard links.
 */
export function openLedger(folder: string): { storage: LedgerStorage; locks: LedgerLocks };
