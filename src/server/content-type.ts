/** True for `application/json`, with or without parameters, and where no type is given. */
export const isJsonType = (contentType: string): boolean => {
  if (contentType === 'application/json' || contentType === '') return true
  const end = contentType.indexOf(';')
  const type = end === -1 ? contentType : contentType.slice(0, end)
  return type.trim().toLowerCase() === 'application/json'
}
