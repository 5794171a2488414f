import { testVectors } from '../../fixtures/rpc/vectors.js'

testVectors('getTokenAccountsByOwnerV2')
