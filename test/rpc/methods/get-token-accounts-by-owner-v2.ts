import { testVectors } from '../../fixtures/vectors.js'

testVectors('getTokenAccountsByOwnerV2')
