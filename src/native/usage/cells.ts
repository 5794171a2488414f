import * as addon from '#native'
import { callNative } from '../errors.js'

/** Where the parts of a slot are, in cells from its first one. */
export const SLOT = callNative(() => addon.slotLayout())

/** The cells that one edge counts in. */
export type UsageCells = Pick<
  addon.UsageCells,
  'begin' | 'close' | 'stateAt' | 'addEvent' | 'waitingEvents' | 'cells'
>

/** Opens the cells in the folder of an edge; without one, cells that end with the process. */
export const openCells = (dir: string | undefined, slots: number): UsageCells =>
  callNative(() => new addon.UsageCells(dir, slots))
