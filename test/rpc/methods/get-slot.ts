import { testVectors } from '../../fixtures/vectors.js'

testVectors('getSlot')
