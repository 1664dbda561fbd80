package hostile

const slowPeersEnv = "RDDP_SLOW_PEERS"

func runSlowPeers(string) error { return nil }
