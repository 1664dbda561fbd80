package pipeline

// Presets returns parameters for links of 1, 2, 10, 100 and 400 Gb/s, in this order, and before
// them those of the E-UDP testbed, whose measurements are published. Where the numbers come from:
//
// # All sets
//
//   - Link.PerByte is 8 bits at the rate of the link.
//   - Link.PerPacket on Ethernet is the time of 110 bytes: preamble, header, FCS and gap (38), IPv4
//     and TCP with timestamps (52), MPA and DDP headers and CRC (20). MaxPacket is what is left of
//     an MTU of 9,000 bytes: 8,928.
//   - EngineQueue of 16 and HostQueue of 1,024 are our choice. The E-UDP paper does not state its
//     own.
//   - Checksum is our estimate. It counts only with SeparateChecksum.
//   - Link.Delay is that of 2 m of cable, 10 ns, plus a switch of 300 ns from 100 Gb/s on. The
//     switch is our estimate.
//
// # E-UDP, and 1 and 2 Gb/s
//
// The E-UDP paper states: a PCI bus of 32 bits and 33 MHz that carries 1,007 Mb/s (7,944 ps per
// byte), a link of 1,280 Mb/s, packets of 32 KB, 951 Mb/s at most, and 44.7 µs in hosts and engines
// for one byte. So a packet of 32 KiB takes 275.6 µs, of which 260.3 µs are bytes: the DMA takes
// 15.3 µs for a packet. Twice that leaves 14.1 µs for everything else. How that splits into Post,
// two times Engine, and Notify is our choice. So are Refill, an interrupt, and Fragment. A checksum
// in the engine's firmware takes three cycles of 133 MHz for 4 bytes.
//
// The sets of 1 and 2 Gb/s have the same engine, as the paper's own projections have. The bus of
// the second one is PCI of 64 bits and 66 MHz: four times as fast.
//
// # 10 Gb/s
//
// A hardware engine on 10-Gigabit Ethernet and PCI-X of 64 bits and 133 MHz, eight times as fast as
// the testbed's bus: 993 ps per byte. The bus is slower than the link, so the threshold matters.
// Engines of that kind were measured at 7.6 Gb/s and 8.9 µs. That rate leaves 0.5 µs of DMA for a
// packet; the split of the latency is our choice.
//
// # 100 and 400 Gb/s
//
// PCI Express 3.0 and 5.0 with 16 lanes: 8 and 32 GT/s in 128/130 coding are 126 and 504 Gb/s, of
// which packets of 256 bytes with 26 bytes of headers leave 114.4 and 457.6 Gb/s: 70 and 17.5 ps
// per byte, rounded up. Fragment is such a packet. A DMA read waits for its answer for about 500
// ns, as measured in studies of PCI Express; a DMA write waits for nothing and takes about half.
// Makers state 215 million messages per second for engines of 200 Gb/s: 4.65 ns for a packet, here
// 5 ns. The time of processing, 100 ns, is our estimate; a pipeline in hardware takes a packet each
// 5 ns nevertheless. Post of 150 ns, for a descriptor and one posted write, Notify of 500 ns and
// Refill of 1 µs, both of a program that polls, are our estimates.
func Presets() []Params {
	return []Params{eudp(), gigabit(), myrinet2000(), tenGigabit(), hundredGigabit(), fourHundredGigabit()}
}

const (
	ethernetOverhead = 110  // bytes of a packet on the link that are not payload
	jumboPayload     = 8928 // bytes of payload in a packet with an MTU of 9,000
	cable            = 10 * Nanosecond
	switched         = cable + 300*Nanosecond
)

// ethernet returns a link whose bytes take that time.
func ethernet(perByte, delay Time) Cost {
	return Cost{PerPacket: ethernetOverhead * perByte, PerByte: perByte, Delay: delay}
}

func eudp() Params {
	bus := Cost{PerPacket: 15_300 * Nanosecond, PerByte: 7944}
	return Params{
		Name: "E-UDP", MaxPacket: 32 << 10, Fragment: 1 << 10,
		Post: 2 * Microsecond, Notify: 8100 * Nanosecond,
		ReadHost: bus, WriteHost: bus, SharedDMA: true,
		Engine: Cost{PerPacket: 2 * Microsecond}, Checksum: 5640,
		// 8 bytes of Myrinet's header and 28 of IP and UDP.
		Link:      Cost{PerPacket: 36 * 6250, PerByte: 6250, Delay: cable},
		HostQueue: 1024, EngineQueue: 16, Refill: 8 * Microsecond,
	}
}

func gigabit() Params {
	p := eudp()
	p.Name, p.MaxPacket = "1 Gb/s", jumboPayload
	p.Link, p.Gapless = ethernet(8000, cable), true
	return p
}

func myrinet2000() Params {
	p := eudp()
	p.Name = "2 Gb/s"
	p.ReadHost.PerByte, p.WriteHost.PerByte = 1986, 1986
	p.Link = Cost{PerPacket: 36 * 4000, PerByte: 4000, Delay: cable}
	return p
}

func tenGigabit() Params {
	bus := Cost{PerPacket: 500 * Nanosecond, PerByte: 993}
	return Params{
		Name: "10 Gb/s", MaxPacket: jumboPayload, Fragment: 512,
		Post: Microsecond, Notify: 4800 * Nanosecond,
		ReadHost: bus, WriteHost: bus, SharedDMA: true,
		Engine: Cost{PerPacket: Microsecond}, Checksum: 800,
		Link: ethernet(800, cable), Gapless: true,
		HostQueue: 1024, EngineQueue: 16, Refill: 2 * Microsecond,
	}
}

func hundredGigabit() Params {
	return Params{
		Name: "100 Gb/s", MaxPacket: jumboPayload, Fragment: 256,
		Post: 150 * Nanosecond, Notify: 500 * Nanosecond,
		ReadHost:  Cost{PerPacket: 5 * Nanosecond, PerByte: 70, Delay: 500 * Nanosecond},
		WriteHost: Cost{PerPacket: 5 * Nanosecond, PerByte: 70, Delay: 250 * Nanosecond},
		Engine:    Cost{PerPacket: 5 * Nanosecond, Delay: 100 * Nanosecond}, Checksum: 80,
		Link: ethernet(80, switched), Gapless: true,
		HostQueue: 1024, EngineQueue: 16, Refill: Microsecond,
	}
}

func fourHundredGigabit() Params {
	p := hundredGigabit()
	p.Name = "400 Gb/s"
	p.ReadHost.PerByte, p.WriteHost.PerByte = 18, 18
	p.Checksum = 20
	p.Link = ethernet(20, switched)
	return p
}
