package main

import (
	"context"
	"errors"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/rddp/rddp/cmd/rddp/internal/model"
	"github.com/rddp/rddp/cmd/rddp/internal/perf"
)

func modelCommand() *cli.Command {
	return &cli.Command{
		Name:  "model",
		Usage: "compute and simulate latency and bandwidth of an offload engine on links of 1 to 400 Gb/s",
		Description: "For each link and size of message: latency and bandwidth with coarse-grained pipelining (store and forward) and\n" +
			"with fine-grained pipelining (cut-through) between host DMA, engine and link, and how far a simulation is from the\n" +
			"model. Nothing is measured. The documentation of toe/simtoe/pipeline says where the parameters come from.\n\n" +
			"   rddp model --link 100,400 --size 64,4k,64k --checksum separate",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "link", Usage: "`LIST` of links: " + strings.Join(model.Links(), ", ") + " (default: all but the first)"},
			&cli.StringFlag{Name: "size", Usage: "bytes of one message: `LIST` of sizes such as 4k (default: 1 to 1m)"},
			&cli.StringFlag{Name: "checksum", Value: "integrated", Usage: "`WHERE` the bytes are summed: integrated (in the DMA) or separate (by the engine)"},
			jsonFlag(),
		},
		Action: runModel,
	}
}

func runModel(ctx context.Context, c *cli.Command) error {
	if c.Args().Present() {
		return usage("unexpected argument %q", c.Args().First())
	}
	o := model.Options{Links: list(c.String("link"))}
	switch where := c.String("checksum"); where {
	case "integrated", "separate":
		o.Separate = where == "separate"
	default:
		return usage("--checksum: %q is neither integrated nor separate", where)
	}
	if text := c.String("size"); text != "" {
		var err error
		if o.Sizes, err = perf.ParseSizes(text); err != nil {
			return usage("%w", err)
		}
	}
	r, err := model.Run(ctx, o)
	if wrong := (*model.OptionError)(nil); errors.As(err, &wrong) {
		return usage("%w", err)
	}
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return r.WriteJSON(c.Root().Writer)
	}
	return r.WriteText(c.Root().Writer)
}
