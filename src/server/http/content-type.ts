const JSON_TYPE = 'application/json'

/**
 * True if the stated content type is the accepted one, parameters aside. A missing one means
 * JSON.
 */
export const isAccepted = (accepted: string, stated: string): boolean => {
  if (stated === accepted) return true
  if (stated === '') return accepted === JSON_TYPE
  const end = stated.indexOf(';')
  const type = end === -1 ? stated : stated.slice(0, end)
  return type.trim().toLowerCase() === accepted
}
