import { testVectors } from '../../fixtures/rpc/vectors.js'

testVectors('getVersion')
