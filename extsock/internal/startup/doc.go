// Package startup is how a connection begins, from its first byte to DDP mode or plain TCP.
package startup
