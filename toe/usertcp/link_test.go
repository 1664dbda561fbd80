package usertcp_test

import (
	"github.com/rddp/rddp/toe/badlink"
	"github.com/rddp/rddp/toe/tun"
	"github.com/rddp/rddp/toe/usertcp"
)

// The types that the comment of Link names are Links.
var (
	_ usertcp.Link = (*tun.Device)(nil)
	_ usertcp.Link = (*badlink.End)(nil)
)
