const JSON_TYPE = 'application/json'

/**
 * True where what a client states is the type that a route takes, parameters aside. JSON need not
 * be stated.
 */
export const isTaken = (taken: string, stated: string): boolean => {
  if (stated === taken) return true
  if (stated === '') return taken === JSON_TYPE
  const end = stated.indexOf(';')
  const type = end === -1 ? stated : stated.slice(0, end)
  return type.trim().toLowerCase() === taken
}
