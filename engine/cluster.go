package engine

// ClusterTLS names the files, in PEM, for connections to a cluster: CA checks the cluster, Cert and Key are shown to
// it.
type ClusterTLS struct{ CA, Cert, Key string }
