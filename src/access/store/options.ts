import { type Declaration, defaultsOf } from '../../shared/options/declaration.js'

/** Bounds of the access store. All processes must open it with the same values. */
export type Options = Readonly<typeof defaults>

export const options = {
  mapBytes: {
    default: 1024 ** 3,
    unit: 'bytes',
    min: 1024 ** 2,
    max: 2 ** 46,
    why: 'Address space of the map, fixed so that no reader has to remap it. Enough for over a million tokens.',
  },
} satisfies Declaration

export const defaults = {
  ...defaultsOf(options),
  /**
   * LMDB reader slots over all processes, 64 bytes each: as many edges as there may be, each beside
   * its successor, and control, with spare ones for tools and ended processes.
   */
  readersMax: 1_024,
}
